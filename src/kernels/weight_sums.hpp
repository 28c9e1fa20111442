// The sums over a row of weights, whichever rule they come from.
#pragma once

#include <span>

#include "headgauge/kernels.hpp"

namespace headgauge {

// All sums of a row of weights, which may be negative and need not sum to 1; `logits` gives
// max_logit and min_logit. log_sum_exp is 0, or NaN where a logit is NaN or infinite. Relative
// error 1e-6 of sums of weights of one sign, of the entropy near 0 2e-5.
WeightSums sum_weights(std::span<const float> weights, std::span<const float> logits);

}  // namespace headgauge
