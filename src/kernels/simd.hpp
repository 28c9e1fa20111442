// Selects the instruction set of the kernels: the CPU's best, or the one that the environment
// variable HEADGAUGE_SIMD or set_simd_level() names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headgauge/kernels.hpp"

namespace headgauge {

// Sets the level ("auto" for the best one); throws UsageError if the CPU lacks it. Must not be
// called while kernels run on other threads.
void set_simd_level(std::string_view level);

// Returns the levels that this CPU can run, best first; never empty.
std::vector<std::string> simd_levels();

// Added to sums and radicands to keep them above 0 and in the range of normal numbers, where
// processors are fast. Neither it nor its root changes a float32 sum.
inline constexpr float kTiny = 1e-37f;

namespace detail {
bool read_simd_environment();
}  // namespace detail

// Reads HEADGAUGE_SIMD at the first call; every kernel calls it before it dispatches.
inline void ensure_simd_level() {
  static const bool read = detail::read_simd_environment();
  static_cast<void>(read);
}

}  // namespace headgauge
