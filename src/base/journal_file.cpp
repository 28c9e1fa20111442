#include "base/journal_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "base/temporary.hpp"

namespace headgauge {
namespace {

constexpr const char* kSchema = "headgauge.journal/1";
constexpr const char* kFamily = "headgauge.journal/";  // prefix of all versions
constexpr const char* kStartAgain = "delete it to start again";
constexpr std::size_t kLongestHeader = std::size_t{256} << 20;  // names and checksums of all texts
constexpr std::uint64_t kLongestStage = std::uint64_t{1} << 20;
constexpr std::size_t kReadAtOnce = std::size_t{1} << 20;
constexpr int kNoLayer = -2;  // marks the record that ends a share

// Precedes the name of the stage and the bytes of a record.
struct RecordHead {
  std::uint32_t crc = 0;  // of the rest of the record
  std::int32_t layer = 0;
  std::int64_t document = 0;
  std::uint64_t stage_size = 0;
  std::uint64_t size = 0;
};
static_assert(sizeof(RecordHead) == 32);

std::uint32_t crc_of(std::uint32_t crc, std::span<const std::byte> bytes) {
  if (bytes.empty()) return crc;  // zlib would restart the checksum
  return static_cast<std::uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t begin_crc(const RecordHead& head, std::string_view stage) {
  const auto fields = std::as_bytes(std::span(&head, 1)).subspan(sizeof(head.crc));
  return crc_of(crc_of(0, fields), std::as_bytes(std::span(stage)));
}

std::string header_text(const JournalFile::Header& header) {
  const nlohmann::ordered_json json = {{"schema", kSchema},
                                       {"share", {header.share.index, header.share.count}},
                                       {"identity", header.identity},
                                       {"request", header.request}};
  const std::string text = json_text(json);
  return fmt::format("{} {} {:08x}\n{}\n", kSchema, text.size(),
                     crc_of(0, std::as_bytes(std::span(text))), text);
}

}  // namespace

JournalFile::JournalFile(const std::string& path) : path_(path), descriptor_(open_to_read(path)) {
  read_header();
}

// Uses a temporary name until the header is on the disk, so that a process that finds the journal
// finds it complete and locked.
JournalFile::JournalFile(const std::string& path, const Header& header)
    : path_(path), header_(header) {
  std::error_code error;
  std::filesystem::create_directories(parent_folder(path_), error);
  remove_strays(path_);
  std::string name;
  descriptor_ = Descriptor(open_temporary(path_, name));
  if (!descriptor_.is_open()) fail_to_write(errno);
  try {
    const std::string text = header_text(header);
    write(std::as_bytes(std::span(text)));
    sync();
  } catch (const Error&) {
    ::unlink(name.c_str());
    throw;
  }
  const bool named = ::link(name.c_str(), path_.c_str()) == 0;
  const int failed = errno;
  ::unlink(name.c_str());
  if (named) {
    sync_folder(parent_folder(path_));
    return;
  }
  if (failed != EEXIST) fail_to_write(failed);
  descriptor_ = Descriptor();
}

bool JournalFile::is_being_written(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  return file.is_open() && ::flock(*file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void JournalFile::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  const int error = read_all_at(*descriptor_, offset, into);
  if (error == ENODATA) {
    throw BadInputError(fault(path_, "a journal that did not shrink since it was opened",
                              "a shorter one",
                              "run again, and do not change the journal during the run"));
  }
  if (error != 0) fail_to_read(path_, error);
}

void JournalFile::read_header() {
  const std::string expected = "a journal of this version, " + std::string(kSchema);
  const auto refuse = [&](const std::string& found, const char* advice) {
    throw BadInputError(fault(path_, expected, found, advice));
  };
  struct stat status {};
  if (::fstat(*descriptor_, &status) != 0) fail_to_read(path_, errno);
  const auto size = static_cast<std::size_t>(status.st_size);
  std::string line(std::min<std::size_t>(size, 64), '\0');
  read_at(0, std::as_writable_bytes(std::span(line)));
  if (!line.starts_with(kFamily)) {
    refuse("a file that headgauge did not write", "move it to another folder");
  }
  const std::size_t newline = line.find('\n');
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
  if (!line.starts_with(std::string(kSchema) + " ")) {
    refuse("a journal of another version, " + line.substr(0, line.find(' ')), kStartAgain);
  }
  const auto refuse_damaged = [&] { refuse("a journal with a damaged header", kStartAgain); };
  if (newline == line.npos ||
      std::sscanf(line.c_str(), "headgauge.journal/1 %20lu %8x", &length, &crc) != 2 ||
      length > kLongestHeader || newline + 1 + length >= size) {
    refuse_damaged();
  }
  std::string text(length, '\0');
  read_at(newline + 1, std::as_writable_bytes(std::span(text)));
  if (crc_of(0, std::as_bytes(std::span(text))) != crc) refuse_damaged();
  const auto json = parse_json_object<Journal::Identity>(text, path_, kStartAgain);
  try {
    header_.identity = json.at("identity");
    header_.request = json.value("request", Journal::Identity());
    header_.share = {json.at("share").at(0).get<int>(), json.at("share").at(1).get<int>()};
  } catch (const nlohmann::json::exception&) {
    refuse_damaged();
  }
  end_ = newline + 1 + length + 1;
}

void JournalFile::each(const std::function<void(const PartKey&, Place)>& visit) {
  struct stat status {};
  if (::fstat(*descriptor_, &status) != 0) fail_to_read(path_, errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::vector<std::byte> piece;
  while (size - end_ >= sizeof(RecordHead)) {
    RecordHead head;
    read_at(end_, std::as_writable_bytes(std::span(&head, 1)));
    const std::uint64_t left = size - end_ - sizeof(head);
    // The checksum covers the name of the stage, so its size is limited before it is read.
    if (head.stage_size > std::min(left, kLongestStage)) return;
    if (head.size > left - head.stage_size) return;
    std::string stage(head.stage_size, '\0');
    const std::uint64_t stage_at = end_ + sizeof(head), bytes_at = stage_at + head.stage_size;
    read_at(stage_at, std::as_writable_bytes(std::span(stage)));
    std::uint32_t crc = begin_crc(head, stage);
    for (std::uint64_t at = 0; at < head.size; at += piece.size()) {
      piece.resize(std::min<std::uint64_t>(kReadAtOnce, head.size - at));
      read_at(bytes_at + at, piece);
      crc = crc_of(crc, piece);
    }
    if (crc != head.crc) return;
    end_ = bytes_at + head.size;
    finished_ = head.layer == kNoLayer;
    if (!finished_) {
      visit({std::move(stage), head.layer, static_cast<Index>(head.document)},
            {bytes_at, head.size});
    }
  }
}

Bytes JournalFile::read(Place place) const {
  Bytes bytes(place.size);
  read_at(place.offset, bytes);
  return bytes;
}

void JournalFile::read(Place place, std::span<std::byte> into) const {
  refuse_if(place.size != into.size(), path_, "a state with one row for each token of the document",
            "another number of rows", kStartAgain);
  read_at(place.offset, into);
}

void JournalFile::begin_adding() {
  // A run killed between link() and unlink() left a second name of this file. The lock taken here
  // would hide that name from the search for strays.
  remove_strays(path_);
  Descriptor opened(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!opened.is_open()) fail_to_write(errno);
  descriptor_ = std::move(opened);
  if (::flock(*descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) refuse_to_share();
  if (::ftruncate(*descriptor_, static_cast<off_t>(end_)) != 0) fail_to_write(errno);
  if (::lseek(*descriptor_, static_cast<off_t>(end_), SEEK_SET) < 0) fail_to_write(errno);
}

void JournalFile::refuse_to_share() const {
  throw ResourceError(fault(path_, "a journal that no other run is writing",
                            "a journal that another run is writing",
                            "wait for that run to end, or choose another folder"));
}

JournalFile::Place JournalFile::add(const PartKey& key, std::span<const std::byte> bytes) {
  RecordHead head{.layer = key.layer,
                  .document = key.document,
                  .stage_size = key.stage.size(),
                  .size = bytes.size()};
  head.crc = crc_of(begin_crc(head, key.stage), bytes);
  write(std::as_bytes(std::span(&head, 1)));
  write(std::as_bytes(std::span(key.stage)));
  const Place place{end_, bytes.size()};
  write(bytes);
  finished_ = false;
  return place;
}

void JournalFile::finish() {
  add({"", kNoLayer, 0}, {});
  finished_ = true;
}

void JournalFile::sync() {
  if (::fdatasync(*descriptor_) != 0) fail_to_write(errno);
}

void JournalFile::write(std::span<const std::byte> bytes) {
  if (const int error = write_all(*descriptor_, bytes)) fail_to_write(error);
  end_ += bytes.size();
}

void JournalFile::fail_to_write(int error) const {
  throw ResourceError(fault(path_, "a journal that can be written",
                            std::generic_category().message(error),
                            "free some space or choose another folder, and run again to resume"));
}

}  // namespace headgauge
