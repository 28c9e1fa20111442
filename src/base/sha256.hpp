// SHA-256.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace headgauge {

// Computes the SHA-256 (FIPS 180-4) of bytes that come in pieces.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  // Returns the SHA-256 of all added bytes in lower-case hex.
  std::string hex() const;

 private:
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> block_{};  // the first size_ % 64 bytes are waiting
  std::uint64_t size_ = 0;
};

// Returns the SHA-256 of the bytes in lower-case hex.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace headgauge
