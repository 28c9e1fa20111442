#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.hpp"
#include "headgauge/base.hpp"

namespace headgauge {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  const auto fail = [&](const std::string& found) {
    return BadInputError(fault(path_, "a readable file", found, "check the path"));
  };

  // O_NONBLOCK: a named pipe must be refused, not waited for.
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail_to_read(path_, errno);
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};

  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail_to_read(path_, errno);
  if (S_ISDIR(status.st_mode)) throw fail("a folder");
  if (!S_ISREG(status.st_mode)) throw fail("a pipe or a device");
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // an empty file cannot be mapped
  void* map = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (map == MAP_FAILED) fail_to_read(path_, errno, size_);
  data_ = static_cast<const std::byte*>(map);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace headgauge
