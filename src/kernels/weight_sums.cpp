#include "kernels/weight_sums.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/softmax.hpp"

namespace headgauge {

WeightSums sum_weights(std::span<const float> weights, std::span<const float> logits) {
  WeightSums sums;
  const Extremes bounds = extremes(weights), range = extremes(logits);
  sums.max = bounds.max;
  sums.min = bounds.min;
  sums.max_logit = range.max;
  sums.min_logit = range.min;
  double logs = 0;
  for (const float weight : weights) {
    const double a = weight, magnitude = std::abs(a);
    sums.mass += a;
    sums.abs_mass += magnitude;
    sums.square += a * a;
    sums.cube += a * a * a;
    if (weight == bounds.max) {
      ++sums.max_count;
    } else {
      sums.rest_mass += a;
      sums.rest_square += a * a;
      sums.rest_cube += a * a * a;
    }
    if (magnitude > 0) logs += magnitude * std::log(magnitude);
  }
  // H(p) of p = |a| / S is log S - sum |a| log |a| / S.
  sums.entropy = sums.abs_mass > 0 ? std::max(0.0, std::log(sums.abs_mass) - logs / sums.abs_mass)
                                   : kUndefined;
  if (first_non_finite(logits) >= 0) sums.log_sum_exp = kUndefined;
  return sums;
}

}  // namespace headgauge
