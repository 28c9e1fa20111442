// The pass over rows of scores between the two matrix products of streamed attention.
#pragma once

#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

inline constexpr Index kMostStreamColumns = 4;

// For each row of scores s: sets largest = c = max(largest, max s) and replaces s_j by e_j =
// exp(s_j - c) (0 below e^-87). Sets sums[0] = sum e_j and sums[1 + k] = sum_j e_j columns(k, j)
// for up to 4 columns, each a row of `columns`. A row of only -inf gives zeros. Rows must not be
// empty; a NaN in a row makes its sums NaN. A row has the same bits whichever other rows are in the
// call. Errors are those of exp_shifted and of sums in 4 to 16 float32 lanes.
void stream_exp(MatrixView<float> scores, std::span<float> largest, MatrixView<const float> columns,
                MatrixView<float> sums);

}  // namespace headgauge
