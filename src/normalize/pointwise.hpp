// a_i = F(l_i) / sum_j F(l_j) with a positive F: the normalizers that paper A is about (D1.2).
#pragma once

#include <optional>

#include "headgauge/normalize.hpp"
#include "kernels/pointwise.hpp"
#include "normalize/functions.hpp"
#include "normalize/one_term.hpp"

namespace headgauge {

// The generic wrapper (docs/mathematics.md 6): any F > 0 with its derivative. weigh() throws
// BadInputError where F is not a positive number.
class PointwiseNormalizer final : public Normalizer {
 public:
  // `kernel` is the float32 path of F, where the kernels have one.
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
  // Whether F of these logits leaves float64, and its logarithm is known.
  bool by_logarithms(std::span<const double> logits) const;

  NormalizerInfo info_;
  ScalarFunction f_;
  std::optional<PointwiseKernel> kernel_;
  NormalizerTraits traits_;
};

}  // namespace headgauge
