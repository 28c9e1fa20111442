// Finds the largest values of a row exactly, without sorting the row.
#pragma once

#include <cstdint>
#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// Scratch memory of one thread; grows to the longest row.
struct TopWorkspace {
  AlignedVector<std::uint64_t> keys;
  AlignedVector<float> values;
  AlignedVector<std::uint32_t> index;
};

// Writes the indices of the min(count, values.size()) largest values to `out_index`, largest first,
// equal values (-0 equals 0) by lower index first; returns their number. Exact for every input
// without NaN; fast for count up to 128.
Index select_top(std::span<const float> values, Index count, std::span<std::uint32_t> out_index,
                 TopWorkspace& workspace);

// Returns the smallest k such that the k largest weights hold at least `fraction` of their sum (k90
// of docs/mathematics.md 7a at fraction 0.9), to within 1e-6 of it: exact, ties included, for the
// target fraction * sum * (1 - 1e-6) in float64. 0 if the sum is 0. Weights must not be negative.
Index mass_quantile(std::span<const float> weights, double fraction, TopWorkspace& workspace);

}  // namespace headgauge
