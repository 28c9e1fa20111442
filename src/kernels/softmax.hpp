// Softmax of a row, and the sums that the weights group needs, in two passes over the row.
#pragma once

#include <span>

#include "headgauge/base.hpp"
#include "headgauge/kernels.hpp"

namespace headgauge {

// Computes weights_j = exp(c (l_j - max l)) / sum with scale c >= 0, and their sums (mass is 1 by
// construction). `weights` has the size of `logits` and may be the same memory; it is empty if only
// the sums are needed. Weights below e^-87 of the largest are 0. Relative errors: of a weight at
// most 1.3e-6 + 1.2e-7 c |l - max|, of the sums 2e-6, of the entropy near 0 2e-5. log_sum_exp is
// that of c l, NaN if a logit is NaN or infinite. The row must not be empty.
WeightSums softmax_row(std::span<const float> logits, std::span<float> weights, float scale = 1.0f);

// Computes out_j = exp(in_j - shift) for in_j - shift <= 88; 0 below -87. `out` may be `in`.
void exp_shifted(std::span<const float> in, float shift, std::span<float> out);

// Returns the position of the first NaN or infinity, or -1.
Index first_non_finite(std::span<const float> values);

// The largest and smallest value of a row that is not empty.
struct Extremes {
  float min = 0;
  float max = 0;
};
Extremes extremes(std::span<const float> values);

}  // namespace headgauge
