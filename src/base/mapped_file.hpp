// A file's bytes without reading them: a read-only memory map.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <span>
#include <string>

namespace headgauge {

// The bytes stay valid as long as the object lives. Throws BadInputError where the path names no
// regular file that can be read, ResourceError where the system has no room for it. (A read of what
// another process cut off while it was mapped is a SIGBUS, the system's price for not copying:
// lost_bytes_message() in headgauge/faults.hpp.)
class MappedFile {
 public:
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Throws BadInputError, which says what changed, unless the path names the file that was opened,
  // and nobody wrote to it since.
  void require_unchanged() const;

 private:
  std::string path_;
  std::string lost_bytes_;  // of lost_bytes_message()
  struct stat opened_ {};
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace headgauge
