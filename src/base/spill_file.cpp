#include "base/spill_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "headgauge/base.hpp"

namespace headgauge {

SpillFile::SpillFile() {
  std::error_code none;  // opening the file reports errors
  folder_ = std::filesystem::temp_directory_path(none).string();
  std::string name = folder_ + "/headgauge-XXXXXX";
  descriptor_ = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (!descriptor_.is_open()) fail(errno);
  ::unlink(name.c_str());
}

std::uint64_t SpillFile::add(std::size_t bytes) {
  return std::exchange(end_, end_ + bytes);
}

void SpillFile::write(std::uint64_t place, std::span<const std::byte> bytes) {
  if (const int error = write_all_at(*descriptor_, place, bytes)) fail(error);
}

void SpillFile::read(std::uint64_t place, std::span<std::byte> into) const {
  if (const int error = read_all_at(*descriptor_, place, into)) fail(error);
}

void SpillFile::fail(int error) const {
  throw ResourceError(fault(folder_, "disk space for hidden states",
                            std::generic_category().message(error),
                            "set TMPDIR to a folder with more space, or measure fewer documents"));
}

}  // namespace headgauge
