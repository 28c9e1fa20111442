// Products and norms of Jacobians of the form diagonal + low rank.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "headgauge/normalize.hpp"

namespace headgauge {
namespace {

double inner(std::span<const double> x, std::span<const double> y) {
  // Uses several sums, so that no addition waits for the one before.
  constexpr std::size_t kSums = 8;
  std::array<double, kSums> sums{};
  std::size_t i = 0;
  for (; i + kSums <= x.size(); i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += x[i + k] * y[i + k];
  }
  double sum = 0;
  for (; i < x.size(); ++i) sum += x[i] * y[i];
  for (const double part : sums) sum += part;
  return sum;
}

// Makes v orthogonal to all of `basis`; two passes are enough.
void orthogonalize(std::span<double> v, const std::vector<std::vector<double>>& basis) {
  for (int round = 0; round < 2; ++round) {
    for (const auto& b : basis) {
      const double c = inner(v, b);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] -= c * b[i];
    }
  }
}

double normalize(std::span<double> v) {
  const double norm = std::sqrt(inner(v, v));
  if (norm > 0) {
    for (double& x : v) x /= norm;
  }
  return norm;
}

// Counts the eigenvalues below x of the symmetric tridiagonal matrix by Sturm's sequence.
std::size_t count_below(std::span<const double> diagonal, std::span<const double> off, double x) {
  std::size_t count = 0;
  double d = 1;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const double coupling = i == 0 ? 0 : off[i - 1] * off[i - 1] / d;
    d = diagonal[i] - x - coupling;
    if (d == 0) d = 1e-300;
    if (d < 0) ++count;
  }
  return count;
}

// Finds the largest singular value of the upper bidiagonal matrix with these alphas and betas: the
// root of the largest eigenvalue of B^T B, by bisection.
double largest_singular(std::span<const double> alpha, std::span<const double> beta) {
  const std::size_t k = alpha.size();
  std::vector<double> diagonal(k), off(k);
  double high = 0;
  for (std::size_t i = 0; i < k; ++i) {
    const double before = i == 0 ? 0 : beta[i - 1];
    diagonal[i] = alpha[i] * alpha[i] + before * before;
    if (i + 1 < k) off[i] = alpha[i] * beta[i];
  }
  for (std::size_t i = 0; i < k; ++i) {
    high = std::max(high, diagonal[i] + (i > 0 ? std::abs(off[i - 1]) : 0) +
                              (i + 1 < k ? std::abs(off[i]) : 0));
  }
  double low = 0;
  for (int i = 0; i < 100 && high - low > 1e-15 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (count_below(diagonal, off, middle) == k ? high : low) = middle;
  }
  return std::sqrt(high);
}

}  // namespace

void Jacobian::apply(std::span<const double> v, std::span<double> out) const {
  for (std::size_t i = 0; i < v.size(); ++i) out[i] = diagonal[i] * v[i];
  for (const Term& term : terms) {
    const double c = inner(term.right, v);
    for (std::size_t i = 0; i < v.size(); ++i) out[i] += c * term.left[i];
  }
}

void Jacobian::apply_transposed(std::span<const double> v, std::span<double> out) const {
  for (std::size_t i = 0; i < v.size(); ++i) out[i] = diagonal[i] * v[i];
  for (const Term& term : terms) {
    const double c = inner(term.left, v);
    for (std::size_t i = 0; i < v.size(); ++i) out[i] += c * term.right[i];
  }
}

// Computes the sum of the squared diagonal entries and of (sum_k u_ki v_kj)^2 over i != j. For each
// pair of terms it uses running sums over j < i and over j > i, because subtracting the diagonal
// from whole sums would cancel.
double Jacobian::frobenius() const {
  const std::size_t n = diagonal.size();
  double square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double entry = diagonal[i];
    for (const Term& term : terms) entry += term.left[i] * term.right[i];
    square += entry * entry;
  }
  for (const Term& one : terms) {
    for (const Term& other : terms) {
      double before = 0, after = 0;
      for (std::size_t i = 0; i < n; ++i) {
        square += one.left[i] * other.left[i] * before;
        before += one.right[i] * other.right[i];
        const std::size_t j = n - 1 - i;
        square += one.left[j] * other.left[j] * after;
        after += one.right[j] * other.right[j];
      }
    }
  }
  return std::sqrt(std::max(0.0, square));
}

double Jacobian::spectral() const {
  const std::size_t n = diagonal.size();
  if (n == 0) return 0;
  constexpr std::size_t kMostSteps = 60;
  // The fixed start has a part along every singular vector that occurs, and favours large entries.
  std::minstd_rand random(1);
  std::vector<double> v(n), u(n), next(n);
  for (std::size_t i = 0; i < n; ++i) {
    v[i] = std::abs(diagonal[i]) * (1.0 + 1e-3 * static_cast<double>(random() % 1000));
    for (const Term& term : terms) v[i] += std::abs(term.right[i]) * 1e-3;
    v[i] *= random() % 2 == 0 ? 1.0 : -1.0;
  }
  if (normalize(v) == 0) return 0;
  std::vector<std::vector<double>> left, right;
  std::vector<double> alpha, beta;
  double found = 0;
  for (std::size_t step = 0; step < std::min(n, kMostSteps); ++step) {
    right.push_back(v);
    apply(v, u);
    if (step > 0) {
      for (std::size_t i = 0; i < n; ++i) u[i] -= beta.back() * left.back()[i];
    }
    orthogonalize(u, left);
    alpha.push_back(normalize(u));
    left.push_back(u);
    const double before = found;
    found = largest_singular(alpha, beta);
    if (step >= 2 && found - before <= 1e-11 * found) break;
    if (alpha.back() <= 1e-14 * found) break;
    apply_transposed(u, next);
    for (std::size_t i = 0; i < n; ++i) next[i] -= alpha.back() * v[i];
    orthogonalize(next, right);
    const double b = normalize(next);
    if (b <= 1e-14 * found) break;
    beta.push_back(b);
    v = next;
  }
  return found;
}

void Normalizer::vjp(std::span<const double> logits, const RowContext& context,
                     std::span<const double> v, std::span<double> out) const {
  Jacobian j;
  jacobian(logits, context, j);
  j.apply_transposed(v, out);
}

double Normalizer::lipschitz(const RowContext&) const {
  return traits().lipschitz;
}

std::optional<double> Normalizer::softmax_scale(const RowContext&) const {
  return std::nullopt;
}

Normalizer::JacobianNorms Normalizer::jacobian_norms(std::span<const float> logits,
                                                     std::span<const float>, const WeightSums&,
                                                     const RowContext& context) const {
  const std::vector<double> exact(logits.begin(), logits.end());
  Jacobian j;
  jacobian(exact, context, j);
  JacobianNorms norms;
  norms.frobenius = j.frobenius();
  norms.spectral = j.spectral();
  const double bound = lipschitz(context);
  if (std::isfinite(bound)) norms.bound = bound;
  return norms;
}

}  // namespace headgauge
