// Gives access to a file's bytes through a read-only memory map.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <span>
#include <string>

namespace headgauge {

// The bytes stay valid as long as the object lives. Throws BadInputError if the path is not a
// readable regular file, ResourceError if the system cannot map it. If another process truncates
// the file, reading the lost part raises SIGBUS, since the file is not copied: see
// lost_bytes_message() in headgauge/faults.hpp.
class MappedFile {
 public:
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Throws BadInputError, which says what changed, unless the path still names the opened file and
  // nobody has written to it.
  void require_unchanged() const;

 private:
  std::string path_;
  std::string lost_bytes_;  // text for lost_bytes_message()
  struct stat opened_ {};
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Lets the system take back the memory of these bytes of a MappedFile; they are read again when
// they are needed. Does nothing to other memory.
void release_mapped(std::span<const std::byte> bytes) noexcept;

}  // namespace headgauge
