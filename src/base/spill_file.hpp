// Bytes that wait on the disk for their turn, in a file without a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/descriptor.hpp"

namespace headgauge {

// In the system's folder for temporary files (TMPDIR). Throws ResourceError where there is no room.
class SpillFile {
 public:
  SpillFile();

  // A place for that many bytes.
  std::uint64_t add(std::size_t bytes);
  void write(std::uint64_t place, std::span<const std::byte> bytes);
  void read(std::uint64_t place, std::span<std::byte> into) const;

 private:
  [[noreturn]] void fail(int error) const;

  std::string folder_;
  Descriptor descriptor_;
  std::uint64_t end_ = 0;
};

}  // namespace headgauge
