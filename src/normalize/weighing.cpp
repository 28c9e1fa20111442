// Handles rows without a visible key, and computes in float64 for normalizers that have no float32
// kernel.
#include <algorithm>
#include <limits>
#include <vector>

#include "headgauge/normalize.hpp"
#include "kernels/shares.hpp"
#include "kernels/softmax.hpp"
#include "kernels/weight_sums.hpp"

namespace headgauge {
namespace {

template <class Number>
bool sees_no_key(std::span<const Number> logits) {
  constexpr Number kHidden = -std::numeric_limits<Number>::infinity();
  return !logits.empty() && std::ranges::all_of(logits, [](Number l) { return l == kHidden; });
}

}  // namespace

WeightSums Normalizer::weigh(std::span<const float> logits, const RowContext& context,
                             std::span<float> weights) const {
  if (!sees_no_key(logits)) return weigh_row(logits, context, weights);
  WeightSums sums = no_weights(logits.size(), {logits.front(), logits.front()});
  sums.log_sum_exp = kUndefined;
  std::ranges::fill(weights, 0.0f);
  return sums;
}

void Normalizer::weigh(std::span<const double> logits, const RowContext& context,
                       std::span<double> weights) const {
  if (!sees_no_key(logits)) return weigh_row(logits, context, weights);
  std::ranges::fill(weights, 0.0);
}

WeightSums Normalizer::weigh_row(std::span<const float> logits, const RowContext& context,
                                 std::span<float> weights) const {
  thread_local std::vector<double> exact, out;
  thread_local std::vector<float> narrow;
  exact.assign(logits.begin(), logits.end());
  out.resize(logits.size());
  weigh_row(exact, context, out);
  narrow.resize(out.size());
  std::ranges::transform(out, narrow.begin(), [](double w) { return static_cast<float>(w); });
  const WeightSums sums = sum_weights(narrow, logits);
  std::ranges::copy(std::span(narrow).first(weights.size()), weights.begin());
  return sums;
}

}  // namespace headgauge
