// The pass over rows of scores between the two products of streamed attention.
#pragma once

#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

inline constexpr Index kMostStreamColumns = 4;

// Of each row of scores s: largest = c = max(largest, max s); e_j = exp(s_j - c) in place of s_j (0
// below e^-87), sums[0] = sum e_j and sums[1 + k] = sum_j e_j columns(k, j) for up to 4 columns, a
// row of `columns` each. A row of -inf alone gives zeros. Rows must not be empty; NaN in one is NaN
// in its sums. A row has the same bits whichever rows are with it. Errors are those of exp_shifted
// and of sums in 4 to 16 float32 lanes.
void stream_exp(MatrixView<float> scores, std::span<float> largest, MatrixView<const float> columns,
                MatrixView<float> sums);

}  // namespace headgauge
