// a_i = F(l_i) / sum_j F(l_j) with a positive F: the normalizers of paper A (D1.2).
#pragma once

#include <optional>

#include "headgauge/normalize.hpp"
#include "kernels/pointwise.hpp"
#include "normalize/functions.hpp"
#include "normalize/one_term.hpp"

namespace headgauge {

// Wraps any F > 0 with its derivative (docs/mathematics.md 6). weigh() throws AttentionError if F
// is negative or not finite.
class PointwiseNormalizer final : public Normalizer {
 public:
  // `kernel` computes F in float32, if the kernels have it.
  PointwiseNormalizer(NormalizerInfo info, ScalarFunction f,
                      std::optional<PointwiseKernel> kernel = std::nullopt);

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
  std::optional<Lemma1Constants> lemma1_constants(double range) const override;

 private:
  void one_term(std::span<const float> logits, std::span<const float> weights,
                const WeightSums& sums, OneTerm& j) const;
  // Returns whether F of these logits leaves the range of float64 and its logarithm is known.
  bool by_logarithms(std::span<const double> logits) const;

  NormalizerInfo info_;
  ScalarFunction f_;
  std::optional<PointwiseKernel> kernel_;
  NormalizerTraits traits_;
};

}  // namespace headgauge
