// The float32 path of rules that have no kernel of their own: through float64.
#include <algorithm>
#include <cmath>

#include "headgauge/normalize.hpp"
#include "kernels/softmax.hpp"
#include "kernels/weight_sums.hpp"

namespace headgauge {

WeightSums Normalizer::weigh(std::span<const float> logits, const RowContext& context,
                             std::span<float> weights) const {
  thread_local std::vector<double> exact, out;
  thread_local std::vector<float> narrow;
  exact.assign(logits.begin(), logits.end());
  out.resize(logits.size());
  weigh(exact, context, out);
  narrow.resize(out.size());
  std::ranges::transform(out, narrow.begin(), [](double w) { return static_cast<float>(w); });
  const WeightSums sums = sum_weights(narrow, logits);
  std::ranges::copy(std::span(narrow).first(weights.size()), weights.begin());
  return sums;
}

}  // namespace headgauge
