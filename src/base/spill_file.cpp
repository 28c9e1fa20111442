#include "base/spill_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "headgauge/base.hpp"

namespace headgauge {

SpillFile::SpillFile() {
  std::error_code none;  // what is wrong with it is said when it is opened
  folder_ = std::filesystem::temp_directory_path(none).string();
  std::string name = folder_ + "/headgauge-XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
  ::unlink(name.c_str());
}

SpillFile::~SpillFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t SpillFile::add(std::size_t bytes) {
  return std::exchange(end_, end_ + bytes);
}

void SpillFile::write(std::uint64_t place, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(n < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    place += static_cast<std::uint64_t>(n);
  }
}

void SpillFile::read(std::uint64_t place, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t n = ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(place));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(n < 0 ? errno : EIO);
    into = into.subspan(static_cast<std::size_t>(n));
    place += static_cast<std::uint64_t>(n);
  }
}

void SpillFile::fail(int error) const {
  throw ResourceError(fault(folder_, "room for hidden states that wait for their turn",
                            std::generic_category().message(error),
                            "name a folder with more room as TMPDIR, or measure fewer documents"));
}

}  // namespace headgauge
