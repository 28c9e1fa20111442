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
  // The bound is the minimum of max r, 2 max r (1 - r / sum r) and lipschitz().
  JacobianNorms jacobian_norms(std::span<const float> logits, std::span<const float> weights,
                               const WeightSums& sums, const RowContext& context) const final;

 protected:
  // Computes r of every key from float64 weights: float32 weights cannot tell whether a key near
  // the edge of the support has left it.
  virtual void curvatures(std::span<const float> logits, std::span<const float> weights,
                          const RowContext& context, std::span<double> out) const;
  // Returns r of a key of weight a > 0 (r = 0 if a = 0), times the scale of the logits.
  virtual double curvature(double a, const RowContext& context) const = 0;
};

}  // namespace headgauge
