// The sums over a row of weights, for any normalizer.
#pragma once

#include <span>

#include "headgauge/kernels.hpp"
#include "kernels/softmax.hpp"

namespace headgauge {

// Computes all sums of a row of weights, which may be negative and need not sum to 1. `logits`
// gives max_logit and min_logit; log_sum_exp is 0. The relative error is 2e-6 for sums of weights
// of one sign, 2e-5 for the entropy near 0. A row with no weight above 1e-38 counts as all 0. The
// row must not be empty.
WeightSums sum_weights(std::span<const float> weights, const Extremes& logits);

// Does the same given the logits: log_sum_exp is NaN if one of them is NaN or infinite.
WeightSums sum_weights(std::span<const float> weights, std::span<const float> logits);

// Computes sum_j |a_j| |first + j|. If `first` is the first key minus the query, this is the sum of
// distances from the query weighted by a. Relative error 2e-6; |first + j| must be below 2^24.
double sum_distances(std::span<const float> weights, Index first);

}  // namespace headgauge
