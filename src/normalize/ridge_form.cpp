#include "normalize/ridge_form.hpp"

#include <algorithm>
#include <cmath>

#include "normalize/ridge.hpp"
#include "normalize/scaled_softmax.hpp"

namespace headgauge {

void RidgeNormalizer::jacobian(std::span<const double> logits, const RowContext& context,
                               Jacobian& out) const {
  std::vector<double> r(logits.size());
  weigh(logits, context, r);
  double sum = 0;
  for (double& x : r) {
    x = x > 0 ? curvature(x, context) : 0.0;
    sum += x;
  }
  out.terms.clear();
  out.diagonal = r;
  if (sum == 0) return;
  std::vector<double> share = r;
  for (double& x : share) x /= sum;
  subtract_term(out, std::move(share), std::move(r));
}

Normalizer::JacobianNorms RidgeNormalizer::jacobian_norms(std::span<const float> logits,
                                                          std::span<const float>, const WeightSums&,
                                                          const RowContext& context) const {
  const std::vector<double> exact(logits.begin(), logits.end());
  Jacobian j;
  jacobian(exact, context, j);
  std::vector<float> narrow(j.diagonal.begin(), j.diagonal.end());
  double sum = 0, largest = 0, product = 0;
  for (const double r : j.diagonal) {
    sum += r;
    largest = std::max(largest, r);
  }
  for (const double r : j.diagonal) product = std::max(product, r * (1 - r / sum));
  JacobianNorms norms;
  norms.frobenius = j.frobenius();
  norms.spectral = sum > 0 ? ridge_spectral_norm(narrow) : 0.0;
  norms.bound = sum > 0 ? std::min({largest, 2 * product, lipschitz(context)}) : 0.0;
  return norms;
}

}  // namespace headgauge
