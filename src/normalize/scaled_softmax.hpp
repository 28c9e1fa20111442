// softmax(c l) with a scale c that depends only on the row's length and position.
#pragma once

#include <functional>

#include "headgauge/normalize.hpp"

namespace headgauge {

class ScaledSoftmax final : public Normalizer {
 public:
  using Scale = std::function<double(const RowContext&)>;
  // `traits.lipschitz` is sup c / 2 if that is finite.
  ScaledSoftmax(NormalizerInfo info, NormalizerTraits traits, Scale scale);

  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override { return traits_; }
  WeightSums weigh_row(std::span<const float> logits, const RowContext& context,
                       std::span<float> weights) const override;
  void weigh_row(std::span<const double> logits, const RowContext& context,
                 std::span<double> weights) const override;
  void jacobian(std::span<const double> logits, const RowContext& context,
                Jacobian& out) const override;
  JacobianNorms jacobian_norms(std::span<const float> logits, std::span<const float> weights,
                               const WeightSums& sums, const RowContext& context) const override;
  double lipschitz(const RowContext& context) const override { return scale_(context) / 2; }
  std::optional<double> softmax_scale(const RowContext& context) const override {
    return scale_(context);
  }

 private:
  NormalizerInfo info_;
  NormalizerTraits traits_;
  Scale scale_;
};

// Computes softmax in float64, relative to the largest logit; `weights` may be the logits.
void softmax_exact(std::span<const double> logits, double scale, std::span<double> weights);
// Computes the norms of scale (diag(a) - a a^T) at softmax weights, from their sums; no bounds.
Normalizer::JacobianNorms softmax_norms(std::span<const float> weights, const WeightSums& sums,
                                        double scale);
// Adds the term -left right^T.
void subtract_term(Jacobian& jacobian, std::vector<double> left, std::vector<double> right);

}  // namespace headgauge
