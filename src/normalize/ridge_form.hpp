// Normalizers that maximise <p, l> - Omega(p) over the simplex with a separable Omega: their
// Jacobian is diag(r) - r r^T / sum r with r_i = 1 / Omega''(a_i) (docs/mathematics.md 6, RIDGE
// form).
#pragma once

#include "headgauge/normalize.hpp"

namespace headgauge {

class RidgeNormalizer : public Normalizer {
 public:
  void jacobian(std::span<const double> logits, const RowContext& context,
                Jacobian& out) const final;
  // The bound is the least of max r, 2 max r (1 - r / sum r) and lipschitz().
  JacobianNorms jacobian_norms(std::span<const float> logits, std::span<const float> weights,
                               const WeightSums& sums, const RowContext& context) const final;

 protected:
  // r of every key, from the weights in float64: where a key is about to leave the support those in
  // float32 cannot tell whether it has.
  virtual void curvatures(std::span<const float> logits, std::span<const float> weights,
                          const RowContext& context, std::span<double> out) const;
  // r of a key of weight a > 0 (r = 0 where a = 0), times the scale of the logits.
  virtual double curvature(double a, const RowContext& context) const = 0;
};

}  // namespace headgauge
