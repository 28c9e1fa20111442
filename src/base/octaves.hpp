// Octaves of distances in tokens: 1, 2-3, 4-7, ...
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>

#include "headgauge/base.hpp"

namespace headgauge {

// Returns the number of the octave [2^k, 2^(k+1)) of a distance of at least 1.
inline Index octave_of(Index distance) {
  return static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(distance))) - 1;
}

// Returns the distances of an octave as a label: "64-127".
inline std::string octave_label(Index octave) {
  const Index first = Index{1} << octave;
  return octave == 0 ? "1" : fmt::format("{}-{}", first, 2 * first - 1);
}

}  // namespace headgauge
