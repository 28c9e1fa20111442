// Weights of alpha-entmax, which depend on one number of the row, the root of an equation. The root
// is found in float64.
#pragma once

#include <span>

#include "headgauge/kernels.hpp"

namespace headgauge {

// Computes a_i = [z_i - tau]_+^(1/(alpha - 1)), z = (alpha - 1) scale l, with tau such that they
// sum to 1; alpha > 1, scale >= 0. Only keys with z > max z - 1 can have a weight: they are
// collected first, and tau is found among them.
//
// Sets weights and their sums; log_sum_exp is 0. `weights` has the size of `logits`, which are not
// empty, and may be the same memory; it is empty if only the sums are needed. The relative error of
// a weight and of the sums is 2e-6. Returns false and writes nothing if a logit is NaN or infinite
// or the processor has no vectors.
bool entmax_row(std::span<const float> logits, double alpha, double scale, std::span<float> weights,
                WeightSums& sums);

}  // namespace headgauge
