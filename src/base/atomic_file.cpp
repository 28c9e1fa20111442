#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"
#include "base/temporary.hpp"
#include "headgauge/base.hpp"
#include "headgauge/files.hpp"

namespace headgauge {
namespace {

// Other writers are done by then; a process that holds the lock for longer writes nothing.
constexpr std::chrono::seconds kPatience(10);

// Returns the open descriptor that a path such as /dev/stdout or /dev/fd/3 names; -1 for other
// paths.
int descriptor_of(const std::string& path) {
  constexpr int kLinks = 8;
  std::error_code error;
  std::filesystem::path at = path;
  for (int link = 0; link < kLinks; ++link) {
    const std::string folder = at.parent_path().string(), name = at.filename().string();
    const bool of_files = folder == "/dev/fd" || folder == "/proc/self/fd";
    if (of_files && !name.empty() && name.size() < 8 &&
        name.find_first_not_of("0123456789") == name.npos) {
      return std::stoi(name);
    }
    const std::filesystem::path target = std::filesystem::read_symlink(at, error);
    if (error) return -1;
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return -1;
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
  throw ResourceError(fault(path, "a file that can be replaced",
                            std::generic_category().message(errno),
                            "write elsewhere or change its permissions"));
}

// A file or a folder by what it is, whatever name leads to it; nothing for a pipe or a device.
using Id = std::pair<dev_t, ino_t>;
std::optional<Id> id_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return std::nullopt;
  return Id(status.st_dev, status.st_ino);
}

// Returns what the path, which need not exist, is and lies in.
std::set<Id> ids_to(const std::filesystem::path& path) {
  std::set<Id> ids;
  std::error_code none;
  auto at = std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
  for (;; at = at.parent_path()) {
    if (const auto id = id_of(at)) ids.insert(*id);
    if (!at.has_relative_path()) return ids;
  }
}

}  // namespace

void require_unread(const std::string& out, const std::vector<std::string>& read,
                    const std::vector<std::string>& names) {
  if (out.empty()) return;
  std::set<Id> written = ids_to(out), replaced;
  for (const std::string& name : names) {
    const auto path = std::filesystem::path(out) / name;
    written.merge(ids_to(path));
    if (const auto id = id_of(path)) replaced.insert(*id);
  }
  const auto is_replaced = [&](const Id& id) { return replaced.contains(id); };
  for (const std::string& one : read) {
    const auto id = id_of(one);
    if (!id || (!written.contains(*id) &&
                (replaced.empty() || std::ranges::none_of(ids_to(one), is_replaced)))) {
      continue;
    }
    throw UsageError(
        fault("Run::out", "a place apart from what is read, " + one, out, "choose another"));
  }
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  // Writes in place: a file that replaced /dev/stdout would break other programs.
  if (const int number = descriptor_of(path_); number >= 0) {
    descriptor_ = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    open_in_place(S_ISFIFO(status.st_mode));
    return;
  }
  remove_strays(path_);
  std::string name;
  descriptor_ = open_temporary(path_, name);
  if (descriptor_ < 0) fail(errno);
  temporary_ = std::move(name);
}

void AtomicFile::open_in_place(bool pipe) {
  // A blocking open of a pipe would wait for a reader, which may never come.
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0 && pipe && errno == ENXIO) {
    refuse("a pipe without a reader", "remove it or write elsewhere");
  }
  if (descriptor_ < 0) fail(errno);
  ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::write(std::string_view bytes) {
  if (const int error = write_all(descriptor_, std::as_bytes(std::span(bytes)))) fail(error);
}

// Without fsync a crash soon after the rename may leave the new name with no bytes in it. Special
// files (a terminal, a pipe) cannot be synced and return EINVAL.
void AtomicFile::finish() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail(errno);
}

void AtomicFile::commit() {
  finish();
  if (temporary_.empty()) return close();
  require_no_folder();
  rename();
  sync_folder(parent_folder(path_));
}

void AtomicFile::require_no_folder() {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) fail(EISDIR);
}

// The temporary stays locked until it has its name: nobody takes it for a stray.
void AtomicFile::rename() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
  close();
}

void AtomicFile::close() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void AtomicFile::fail(int error) {
  const char* advice = error == ENOSPC || error == EDQUOT || error == EFBIG
                           ? "free some space or write elsewhere"
                           : "write elsewhere or change its permissions";
  refuse(std::generic_category().message(error), advice);
}

void AtomicFile::refuse(const std::string& found, const char* advice) {
  discard();
  throw ResourceError(fault(path_, "a writable path", found, advice));
}

void AtomicFile::discard() noexcept {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  close();
}

AtomicFiles::AtomicFiles(std::string folder) : folder_(std::move(folder)) {}

std::string AtomicFiles::path(const std::string& name) const {
  return (std::filesystem::path(folder_) / name).string();
}

AtomicFile& AtomicFiles::add(const std::string& name) {
  AtomicFile& file = files_.emplace_back(path(name));
  if (file.temporary_.empty()) {
    file.refuse("a pipe or a device", "remove it or write elsewhere");
  }
  return file;
}

void AtomicFiles::remove(const std::string& name) {
  removed_.push_back(path(name));
}

void AtomicFiles::commit() {
  for (AtomicFile& file : files_) file.finish();
  const FolderLock lock(folder_, kPatience);
  for (AtomicFile& file : files_) file.require_no_folder();
  // The first never stands next to others that are not its own.
  for (std::size_t k = 1; k < files_.size(); ++k) remove_file(files_[k].path());
  for (const std::string& path : removed_) remove_file(path);
  for (AtomicFile& file : files_) file.rename();
  files_.clear();
  sync_folder(folder_);
}

MadeFolder::MadeFolder(const std::string& path, const std::string& advice) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::path at = path; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    made_.push_back(at);
  }
  for (const fs::path& folder : made_) {
    if (!fs::is_symlink(fs::symlink_status(folder, error))) continue;
    throw ResourceError(fault(path, "a writable folder",
                              "a link to a missing file (" + folder.string() + ")", advice));
  }
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) {
    throw ResourceError(fault(path, "a writable folder", error.message(), advice));
  }
}

MadeFolder::~MadeFolder() {
  std::error_code kept;  // the folder stays if it is not empty
  for (const std::filesystem::path& folder : made_) std::filesystem::remove(folder, kept);
}

}  // namespace headgauge
