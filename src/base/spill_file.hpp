// Stores bytes temporarily on the disk, in a file without a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/descriptor.hpp"

namespace headgauge {

// The file is in the system's folder for temporary files (TMPDIR). Throws ResourceError if there is
// no space.
class SpillFile {
 public:
  SpillFile();

  // Reserves a place for that many bytes and returns its offset.
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
