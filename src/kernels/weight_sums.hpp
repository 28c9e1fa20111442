// The sums over a row of weights, whichever normalizer they come from.
#pragma once

#include <span>

#include "headgauge/kernels.hpp"
#include "kernels/softmax.hpp"

namespace headgauge {

// All sums of a row of weights, which may be negative and need not sum to 1. `logits` gives
// max_logit and min_logit; log_sum_exp is 0. Relative error 2e-6 of sums of weights of one sign, of
// the entropy near 0 2e-5. A row of nothing above 1e-38 counts as all 0. The row must not be empty.
WeightSums sum_weights(std::span<const float> weights, const Extremes& logits);

// The same, with the logits at hand: log_sum_exp is NaN where one of them is NaN or infinite.
WeightSums sum_weights(std::span<const float> weights, std::span<const float> logits);

// sum_j |a_j| |first + j|: with the first key less the query as `first`, distances from the query
// weighted by a. Relative error 2e-6; |first + j| must be below 2^24.
double sum_distances(std::span<const float> weights, Index first);

}  // namespace headgauge
