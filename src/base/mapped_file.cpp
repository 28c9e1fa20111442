#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"
#include "base/file.hpp"
#include "headgauge/base.hpp"
#include "headgauge/faults.hpp"
#include "headgauge/text.hpp"

namespace headgauge {
namespace {

constexpr const char* kRunAgain = "run again when no program writes to it";

// One mapping of this process. Entries are reused and never freed, so that a signal handler can
// walk the list.
struct Mapping {
  std::atomic<const std::byte*> data = nullptr;  // null if not in use
  std::atomic<std::size_t> size = 0;
  std::atomic<const char*> message = nullptr;
  Mapping* next = nullptr;
};
std::atomic<Mapping*> first_mapping = nullptr;
std::mutex change_mappings;

void list_mapping(const std::byte* data, std::size_t size, const char* message) {
  const std::lock_guard lock(change_mappings);
  Mapping* free = first_mapping;
  while (free != nullptr && free->data != nullptr) free = free->next;
  const bool found = free != nullptr;
  if (!found) free = new Mapping;
  free->size = size;
  free->message = message;
  free->data = data;
  if (found) return;
  free->next = first_mapping;
  first_mapping = free;
}

void unlist_mapping(const std::byte* data) {
  const std::lock_guard lock(change_mappings);
  for (Mapping* at = first_mapping; at != nullptr; at = at->next) {
    if (at->data == data) at->data = nullptr;
  }
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Says what changed in a file; empty if nothing did.
std::string change_of(const struct stat& before, const struct stat& now) {
  if (before.st_dev != now.st_dev || before.st_ino != now.st_ino)
    return "another file under its name";
  if (before.st_size != now.st_size) {
    return fmt::format("{} bytes instead of {}", now.st_size, before.st_size);
  }
  if (!same_time(before.st_mtim, now.st_mtim)) return "a file that was written since";
  // Only the system sets this time: a program that writes and restores the modification time cannot
  // restore this one.
  return same_time(before.st_ctim, now.st_ctim) ? "" : "a file that was changed since";
}

}  // namespace

const char* lost_bytes_message(const void* address) noexcept {
  const auto* const at = static_cast<const std::byte*>(address);
  for (const Mapping* m = first_mapping; m != nullptr; m = m->next) {
    const std::byte* const data = m->data;
    if (data != nullptr && at >= data && at < data + m->size) return m->message;
  }
  return nullptr;
}

void release_mapped(std::span<const std::byte> bytes) noexcept {
  if (bytes.empty() || lost_bytes_message(bytes.data()) == nullptr) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<std::uintptr_t>(bytes.data()) / page * page;
  const auto to = reinterpret_cast<std::uintptr_t>(bytes.data() + bytes.size());
  ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  const auto fail = [&](const std::string& found) {
    return BadInputError(fault(path_, "a readable file", found, "check the path"));
  };

  // O_NONBLOCK: a named pipe must be refused, not waited for.
  const Descriptor descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.is_open()) fail_to_read(path_, errno);

  if (::fstat(*descriptor, &opened_) != 0) fail_to_read(path_, errno);
  if (S_ISDIR(opened_.st_mode)) throw fail("a folder");
  if (!S_ISREG(opened_.st_mode)) throw fail("a pipe or a device");
  size_ = static_cast<std::size_t>(opened_.st_size);
  if (size_ == 0) return;  // an empty file cannot be mapped
  void* map = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, *descriptor, 0);
  if (map == MAP_FAILED) fail_to_read(path_, errno, size_);
  data_ = static_cast<const std::byte*>(map);
  lost_bytes_ =
      legible(fault(path_, fmt::format("the {} bytes that it had when it was opened", size_),
                    "fewer bytes", kRunAgain));
  list_mapping(data_, size_, lost_bytes_.c_str());
}

MappedFile::~MappedFile() {
  if (size_ == 0) return;
  unlist_mapping(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::require_unchanged() const {
  struct stat now {};
  const std::string change = ::stat(path_.c_str(), &now) == 0
                                 ? change_of(opened_, now)
                                 : std::generic_category().message(errno);
  if (change.empty()) return;
  throw BadInputError(fault(path_, "the file unchanged since it was opened", change, kRunAgain));
}

}  // namespace headgauge
