// Open files of the system: closed when they are done with, read and written as a whole.
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

// All of the bytes, whatever signals come between. Return 0, or the errno of what failed; ENODATA
// where a file ends before `into` is full.
int write_all(int descriptor, std::span<const std::byte> bytes);
int write_all_at(int descriptor, std::uint64_t place, std::span<const std::byte> bytes);
int read_all_at(int descriptor, std::uint64_t place, std::span<std::byte> into);

}  // namespace headgauge
