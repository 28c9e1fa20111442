// N14 Stieltjes (docs/mathematics.md 6).

#include <algorithm>
#include <cmath>

#include "kernels/threshold_normalizers.hpp"
#include "normalize/families.hpp"
#include "normalize/ridge_form.hpp"

namespace headgauge {
namespace {

// a_i = (lam - l_i)^-q with lam > max l such that sum a = 1.
class Stieltjes final : public RidgeNormalizer {
 public:
  Stieltjes(NormalizerInfo info, double q) : info_(std::move(info)), q_(q) {}
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override {
    NormalizerTraits traits;
    traits.lipschitz = q_ * std::pow(2.0, -(1 + 1 / q_));
    return traits;
  }
  WeightSums weigh_row(std::span<const float> logits, const RowContext& context,
                       std::span<float> weights) const override {
    WeightSums sums;
    if (stieltjes_row(logits, q_, weights, sums)) return sums;
    return Normalizer::weigh_row(logits, context, weights);
  }
  // sum (lam - l_i)^-q decreases from above 1 at max l + 1 to below 1 at max l + n^(1/q). The code
  // uses Newton's method on log sum within that bracket.
  void weigh_row(std::span<const double> logits, const RowContext&,
                 std::span<double> weights) const override {
    if (logits.empty()) return;
    const double top = *std::ranges::max_element(logits);
    double low = 1, high = std::pow(static_cast<double>(logits.size()), 1 / q_);
    double gap = low;
    for (int i = 0; i < 100; ++i) {
      double sum = 0, slope = 0;
      for (const double l : logits) {
        const double term = std::pow(gap + (top - l), -q_);
        sum += term;
        slope += term / (gap + (top - l));
      }
      (sum >= 1 ? low : high) = gap;
      double next = gap + std::log(sum) * sum / (q_ * slope);
      if (!(next >= low && next <= high)) next = 0.5 * (low + high);
      if (std::abs(next - gap) <= 4e-16 * gap) break;
      gap = next;
    }
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      weights[i] = std::pow(gap + (top - logits[i]), -q_);
      sum += weights[i];
    }
    for (std::size_t i = 0; i < logits.size(); ++i) weights[i] /= sum;
  }

 protected:
  // r = q a^(1 + 1/q) = q a / (lam - l), without a power per key.
  void curvatures(std::span<const float> logits, std::span<const float> weights, const RowContext&,
                  std::span<double> out) const override {
    const double top = *std::ranges::max_element(logits);
    const double gap =
        std::pow(static_cast<double>(*std::ranges::max_element(weights)), -1 / q_);  // lam - max l
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = q_ * weights[i] / (gap + (top - logits[i]));
    }
  }
  double curvature(double a, const RowContext&) const override {
    return q_ * std::pow(a, 1 + 1 / q_);
  }

 private:
  NormalizerInfo info_;
  double q_;
};

}  // namespace

NormalizerEntries stieltjes_normalizers() {
  return {{{"stieltjes",
            "a_i = (lam - l_i)^-q with lam > max l such that the weights sum to 1",
            {{.key = "q", .initial = 4.0, .domain = NumberDomain{.lowest = 0.02, .highest = 64}}},
            "experiments in public code, no paper found; docs/mathematics.md N14",
            "q 2^-(1 + 1/q)",
            "does not apply: not F(l_i) / sum F"},
           [](const NormalizerInfo& info) -> std::unique_ptr<Normalizer> {
             return std::make_unique<Stieltjes>(info, info.parameters.number("q"));
           }}};
}

}  // namespace headgauge
