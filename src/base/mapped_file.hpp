// A file's bytes without reading them: a read-only memory map.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace headgauge {

// The bytes stay valid as long as the object lives. Throws BadInputError where the path names no
// regular file that can be read, ResourceError where the system has no room for it. (A file that
// another process shortens while it is mapped ends this one with SIGBUS: the system's price for not
// copying.)
class MappedFile {
 public:
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace headgauge
