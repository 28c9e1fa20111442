// SHA-256.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace headgauge {

// SHA-256 (FIPS 180-4) in lower-case hex.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace headgauge
