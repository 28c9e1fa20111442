// N16 adaptive temperature and N18 soft-capped softmax (docs/mathematics.md 6).

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/pointwise.hpp"
#include "kernels/softmax.hpp"
#include "normalize/families.hpp"
#include "normalize/scaled_softmax.hpp"

namespace headgauge {
namespace {

// The polynomial P(H), highest power first, as fitted by Velickovic et al. for their model.
constexpr std::array<double, 5> kFit = {-0.037, 0.481, -2.3, 4.917, -1.791};
constexpr double kSharpEnough = 0.5;  // nats; rows with less entropy get the weights of softmax

struct Fitted {
  double beta = 1;
  double slope = 0;  // d beta / d H
};

Fitted beta_of(double entropy) {
  if (!(entropy > kSharpEnough)) return {};
  double value = 0, slope = 0;
  for (const double c : kFit) {
    slope = slope * entropy + value;
    value = value * entropy + c;
  }
  if (value <= 1) return {};
  return {value, slope};
}

double entropy_of(std::span<const double> p) {
  double entropy = 0;
  for (const double x : p) entropy -= x > 0 ? x * std::log(x) : 0;
  return entropy;
}

class AdaptiveTemperature final : public Normalizer {
 public:
  explicit AdaptiveTemperature(NormalizerInfo info) : info_(std::move(info)) {}
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override { return {}; }

  WeightSums weigh_row(std::span<const float> logits, const RowContext&,
                       std::span<float> weights) const override {
    // Computes only the sums: writing weights could overwrite the logits.
    const double beta = beta_of(softmax_row(logits, {}).entropy).beta;
    return softmax_row(logits, weights, static_cast<float>(beta));
  }
  void weigh_row(std::span<const double> logits, const RowContext&,
                 std::span<double> weights) const override {
    softmax_exact(logits, 1, weights);
    const double beta = beta_of(entropy_of(weights)).beta;
    if (beta != 1) softmax_exact(logits, beta, weights);
  }

  // beta (diag(a) - a a^T) + (da/dbeta) (dbeta/dl)^T with da/dbeta = a (l - <a, l>) and
  // dH/dl_j = -p_j (log p_j + H), p = softmax(l).
  void jacobian(std::span<const double> logits, const RowContext&, Jacobian& out) const override {
    const std::size_t n = logits.size();
    std::vector<double> p(n), a(n);
    softmax_exact(logits, 1, p);
    const double entropy = entropy_of(p);
    const Fitted fitted = beta_of(entropy);
    softmax_exact(logits, fitted.beta, a);
    out.terms.clear();
    out.diagonal = a;
    for (double& x : out.diagonal) x *= fitted.beta;
    subtract_term(out, out.diagonal, a);
    if (fitted.slope == 0) return;
    double mean = 0;
    for (std::size_t i = 0; i < n; ++i) mean += a[i] * logits[i];
    Jacobian::Term term{a, p};
    for (std::size_t i = 0; i < n; ++i) {
      term.left[i] *= logits[i] - mean;
      term.right[i] *= p[i] > 0 ? -fitted.slope * (std::log(p[i]) + entropy) : 0;
    }
    out.terms.push_back(std::move(term));
  }
  // If the scale is constant, the norms are those of softmax.
  JacobianNorms jacobian_norms(std::span<const float> logits, std::span<const float> weights,
                               const WeightSums& sums, const RowContext& context) const override {
    const Fitted fitted = beta_of(softmax_row(logits, {}).entropy);
    if (fitted.slope == 0) return softmax_norms(weights, sums, fitted.beta);
    return Normalizer::jacobian_norms(logits, weights, sums, context);
  }

 private:
  NormalizerInfo info_;
};

class SoftCap final : public Normalizer {
 public:
  SoftCap(NormalizerInfo info, double cap) : info_(std::move(info)), cap_(cap) {}
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override {
    NormalizerTraits traits;
    traits.pointwise = true;
    traits.lipschitz = 0.5;  // |d/dl c tanh(l/c)| <= 1
    return traits;
  }

  WeightSums weigh_row(std::span<const float> logits, const RowContext&,
                       std::span<float> weights) const override {
    thread_local AlignedVector<float> capped;
    capped.resize(logits.size());
    const Extremes bounds = extremes(logits);
    cap_row(logits, static_cast<float>(cap_), capped);
    WeightSums sums = softmax_row(capped, weights);
    sums.max_logit = bounds.max;
    sums.min_logit = bounds.min;
    return sums;
  }
  void weigh_row(std::span<const double> logits, const RowContext&,
                 std::span<double> weights) const override {
    std::ranges::transform(logits, weights.begin(),
                           [&](double l) { return cap_ * std::tanh(l / cap_); });
    softmax_exact(weights, 1, weights);
  }

  void jacobian(std::span<const double> logits, const RowContext& context,
                Jacobian& out) const override {
    std::vector<double> a(logits.size());
    weigh(logits, context, a);
    out.terms.clear();
    out.diagonal = a;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double t = std::tanh(logits[i] / cap_);
      out.diagonal[i] *= 1 - t * t;
    }
    subtract_term(out, a, out.diagonal);
  }

 private:
  NormalizerInfo info_;
  double cap_;
};

}  // namespace

NormalizerMakers adaptive_normalizers() {
  return {
      {"adaptive-temperature",
       [](const NormalizerInfo& info) -> std::unique_ptr<Normalizer> {
         return std::make_unique<AdaptiveTemperature>(info);
       }},
      {"softcap",
       [](const NormalizerInfo& info) -> std::unique_ptr<Normalizer> {
         return std::make_unique<SoftCap>(info, info.parameters.number("c"));
       }},
  };
}

}  // namespace headgauge
