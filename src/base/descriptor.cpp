#include "base/descriptor.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace headgauge {
namespace {

// Calls transfer(rest, done) until nothing is left. Returns `at_end` if a call transfers nothing.
template <class Byte, class Transfer>
int transfer_all(std::span<Byte> bytes, int at_end, const Transfer& transfer) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = transfer(bytes.subspan(done), done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return at_end;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (is_open()) ::close(number_);
}

int write_all(int descriptor, std::span<const std::byte> bytes) {
  return transfer_all(bytes, EIO, [&](auto rest, std::size_t) {
    return ::write(descriptor, rest.data(), rest.size());
  });
}

int write_all_at(int descriptor, std::uint64_t place, std::span<const std::byte> bytes) {
  return transfer_all(bytes, EIO, [&](auto rest, std::size_t done) {
    return ::pwrite(descriptor, rest.data(), rest.size(), static_cast<off_t>(place + done));
  });
}

int read_all_at(int descriptor, std::uint64_t place, std::span<std::byte> into) {
  return transfer_all(into, ENODATA, [&](auto rest, std::size_t done) {
    return ::pread(descriptor, rest.data(), rest.size(), static_cast<off_t>(place + done));
  });
}

}  // namespace headgauge
