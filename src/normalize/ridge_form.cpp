#include "normalize/ridge_form.hpp"

#include <algorithm>
#include <cmath>

#include "normalize/one_term.hpp"
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

void RidgeNormalizer::curvatures(std::span<const float> logits, std::span<const float>,
                                 const RowContext& context, std::span<double> out) const {
  thread_local std::vector<double> exact;
  exact.assign(logits.begin(), logits.end());
  weigh(exact, context, out);
  for (double& x : out) x = x > 0 ? curvature(x, context) : 0.0;
}

Normalizer::JacobianNorms RidgeNormalizer::jacobian_norms(std::span<const float> logits,
                                                          std::span<const float> weights,
                                                          const WeightSums&,
                                                          const RowContext& context) const {
  const std::size_t n = logits.size();
  thread_local std::vector<double> r;
  thread_local std::vector<float> narrow;
  thread_local OneTerm j;
  r.resize(n);
  curvatures(logits, weights, context, r);
  narrow.assign(r.begin(), r.end());
  const auto top = static_cast<std::size_t>(std::ranges::max_element(r) - r.begin());
  double rest = 0;
  for (std::size_t i = 0; i < n; ++i) rest += i == top ? 0.0 : r[i];
  JacobianNorms norms;
  norms.bound = 0;
  if (n == 0 || r[top] == 0) return norms;
  const double sum = r[top] + rest;
  double product = 0;
  j.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    j.diagonal[i] = j.right[i] = r[i];
    j.left[i] = -r[i] / sum;
    j.entry[i] = r[i] * (i == top ? rest : sum - r[i]) / sum;
    product = std::max(product, j.entry[i]);
  }
  norms.frobenius = frobenius_of(j);
  norms.spectral = ridge_spectral_norm(narrow);
  norms.bound = std::min({r[top], 2 * product, lipschitz(context)});
  return norms;
}

}  // namespace headgauge
