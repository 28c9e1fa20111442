// The pass over a row of scores between the two products of streamed attention.
#pragma once

#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

inline constexpr Index kMostStreamColumns = 4;

// With c = max(largest, max s): e_j = exp(s_j - c) in place of s_j (0 below e^-87), sums[0] =
// sum e_j and sums[1 + k] = sum_j e_j columns(k, j) for up to 4 columns, a row of `columns` each.
// Returns c. The row must not be empty; NaN in it is NaN in the sums. Errors are those of
// exp_shifted and of sums in 4 to 16 float32 lanes.
float stream_exp(std::span<float> scores, float largest, MatrixView<const float> columns,
                 std::span<float> sums);

}  // namespace headgauge
