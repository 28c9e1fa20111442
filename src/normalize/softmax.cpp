// N1, softmax at temperature T: a_i = exp(l_i/T) / sum_j exp(l_j/T) (math 6, N1).
#include "kernels/softmax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ridge.hpp"
#include "normalize/rules.hpp"

namespace headgauge {
namespace {

class Softmax final : public Normalizer {
 public:
  explicit Softmax(double temperature) : t_(temperature), info_(softmax_info()) {
    info_.parameters = fmt::format("t={}", temperature);
  }

  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override {
    NormalizerTraits traits;
    traits.pointwise = true;
    traits.lipschitz = 1.0 / (2.0 * t_);  // attained at two equal logits (math C-6)
    return traits;
  }

  WeightSums weigh(std::span<const float> logits, const RowContext&,
                   std::span<float> weights) const override {
    if (t_ == 1.0) return softmax_row(logits, weights);
    const Extremes bounds = extremes(logits);
    thread_local AlignedVector<float> scaled;
    scaled.resize(logits.size());
    // From the largest logit down, which large logits survive with more digits.
    std::ranges::transform(logits, scaled.begin(), [&](float l) {
      return static_cast<float>((static_cast<double>(l) - bounds.max) / t_);
    });
    WeightSums sums = softmax_row(scaled, weights);
    sums.max_logit = bounds.max;
    sums.min_logit = bounds.min;
    sums.log_sum_exp += bounds.max / t_;
    return sums;
  }

  void weigh(std::span<const double> logits, const RowContext&,
             std::span<double> weights) const override {
    if (logits.empty()) return;
    const double top = *std::ranges::max_element(logits);
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      weights[i] = std::exp((logits[i] - top) / t_);
      sum += weights[i];
    }
    for (double& w : weights) w /= sum;
  }

  void jvp(std::span<const double> logits, const RowContext& context, std::span<const double> v,
           std::span<double> out) const override {
    std::vector<double> a(logits.size());
    weigh(logits, context, a);
    double mean = 0;
    for (std::size_t i = 0; i < a.size(); ++i) mean += a[i] * v[i];
    for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] * (v[i] - mean) / t_;
  }
  // J is symmetric.
  void vjp(std::span<const double> logits, const RowContext& context, std::span<const double> v,
           std::span<double> out) const override {
    jvp(logits, context, v, out);
  }

  JacobianNorms jacobian_norms(std::span<const float>, std::span<const float> weights,
                               const WeightSums& sums, const RowContext& context) const override {
    JacobianNorms norms;
    const double n = static_cast<double>(context.visible);
    norms.frobenius = frobenius(weights, sums) / t_;
    const TwoLargest largest = two_largest(weights);
    norms.spectral = ridge_root(weights, largest) / t_;
    // L2v: (a) G/2, (c) 2 G max a(1-a), (d) G max a, (f) max|F'|/S sqrt(n) ||a||, with G = 1/T and
    // F'/S = a/T. a(1-a) is largest at the weight nearest to 1/2: at most max(1-max) or 1/4.
    const double gershgorin = 2.0 * largest_product(largest, sums);
    const double norm = std::sqrt(sums.square);
    norms.bound = std::min({0.5, gershgorin, sums.max, sums.max * std::sqrt(n) * norm}) / t_;
    // L2, first form: max|F'| (1/S + sqrt(n) ||F|| / S^2).
    norms.bound_paper = sums.max * (1.0 + std::sqrt(n) * norm) / t_;
    return norms;
  }

 private:
  // sqrt(Q2 - 2 Q3 + Q2^2). With one largest weight 1 - b the terms of that form cancel, so it is
  // expanded about b: a^2 b^2 + q2 (1 + 2 a^2 + q2) - 2 q3, q the sums without the largest.
  static double frobenius(std::span<const float> weights, const WeightSums& sums) {
    if (sums.max_count != 1) {
      return std::sqrt(std::max(0.0, sums.square - 2 * sums.cube + sums.square * sums.square));
    }
    const double a = sums.max, b = sums.rest_mass;
    double q2 = sums.rest_square;
    if (b < 1e-10) {  // squares of such weights are beyond the float32 of the sums
      q2 = 0;
      for (float w : weights) q2 += w < 0.5f ? static_cast<double>(w) * w : 0.0;
    }
    return std::sqrt(a * a * b * b + q2 * (1 + 2 * a * a + q2) - 2 * sums.rest_cube);
  }

  // max_i a_i (1 - a_i): a(1-a) rises up to 1/2, so only the two largest weights count.
  static double largest_product(TwoLargest largest, const WeightSums& sums) {
    const double at_max = sums.max * (sums.max_count == 1 ? sums.rest_mass : 1 - sums.max);
    const double second = largest.second;
    return std::max(at_max, second * (1 - second));
  }

  double t_;
  NormalizerInfo info_;
};

}  // namespace

NormalizerInfo softmax_info() {
  return {"softmax", "a_i = exp(l_i/t) / sum_j exp(l_j/t)", "t=1",
          "the rule of Vaswani et al. 2017; paper A, eq. of section 2; docs/mathematics.md N1"};
}

std::unique_ptr<Normalizer> make_softmax(RuleParameters& parameters) {
  return std::make_unique<Softmax>(parameters.number("t", 1.0, 0.0));
}

}  // namespace headgauge
