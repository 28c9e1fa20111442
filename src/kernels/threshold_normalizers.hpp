// Weights of normalizers where one number of the row, the root of an equation, settles all of them:
// alpha-entmax and Stieltjes. The root is sought in float64.
#pragma once

#include <span>

#include "headgauge/kernels.hpp"

namespace headgauge {

// a_i = [z_i - tau]_+^(1/(alpha - 1)), z = (alpha - 1) scale l, tau such that they sum to 1;
// alpha > 1, scale >= 0. Only keys with z > max z - 1 can have a weight: they are collected first,
// and tau is sought among them.
// Weights and their sums, log_sum_exp 0. `weights` has the size of `logits`, which are not empty,
// or is empty where only the sums are wanted; it may be the logits themselves. Relative error of a
// weight and of the sums 2e-6. False, and nothing is written, where a logit is NaN or infinite or
// the processor has no vectors.
bool entmax_row(std::span<const float> logits, double alpha, double scale, std::span<float> weights,
                WeightSums& sums);

// a_i = (lam - l_i)^-q with lam > max l such that they sum to 1; the same otherwise, and false
// where q is below 1/4, for there lam may be beyond float64.
bool stieltjes_row(std::span<const float> logits, double q, std::span<float> weights,
                   WeightSums& sums);

}  // namespace headgauge
