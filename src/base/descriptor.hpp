// File descriptors that close themselves, and reads and writes of a given number of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headgauge {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  bool is_open() const { return number_ >= 0; }
  int operator*() const { return number_; }

 private:
  int number_;
};

// Transfer all bytes and continue after signals. Return 0 or the errno of the failure; ENODATA if a
// file ends before `into` is full.
int write_all(int descriptor, std::span<const std::byte> bytes);
int write_all_at(int descriptor, std::uint64_t place, std::span<const std::byte> bytes);
int read_all_at(int descriptor, std::uint64_t place, std::span<std::byte> into);

}  // namespace headgauge
