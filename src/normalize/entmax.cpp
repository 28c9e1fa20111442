// N4 sparsemax, N5 alpha-entmax and its forms that follow the length: N6 scales the logits, N19
// moves alpha (docs/mathematics.md 6).

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "kernels/ridge.hpp"
#include "kernels/threshold_normalizers.hpp"
#include "normalize/families.hpp"
#include "normalize/scaled_softmax.hpp"

namespace headgauge {
namespace {

// x^p; the exponents of sparsemax and of entmax-1.5 need no std::pow.
double power_of(double x, double p) {
  if (p == 0) return 1;
  if (p == 0.5) return std::sqrt(x);
  if (p == 1) return x;
  return p == 2 ? x * x : std::pow(x, p);
}

// a = [z - tau]_+^p with p = 1/(alpha - 1), z = (alpha - 1) l, and tau such that sum a = 1. The
// code uses u = z - max z <= 0 and tau in [-1, -n^(1 - alpha)]. f(tau) = sum [u - tau]_+^p
// decreases; for p >= 1 it is convex, and Newton's method from the left ends after a few steps. It
// begins at mean u - n^(1 - alpha), where f >= 1 by Jensen's inequality. Bisection replaces steps
// that leave the bracket, for p < 1.
double threshold(std::span<const double> u, double p) {
  const double n = static_cast<double>(u.size());
  double low = -1, high = -std::pow(n, -1 / p);
  const double mean = std::reduce(u.begin(), u.end()) / n;
  double tau = p < 1 ? low : std::max(low, mean + high);
  for (int i = 0; i < 200; ++i) {
    double sum = 0, slope = 0;
    for (const double x : u) {
      const double rest = x - tau;
      if (rest <= 0) continue;
      const double power = power_of(rest, p - 1);
      sum += power * rest;
      slope += p * power;
    }
    (sum >= 1 ? low : high) = tau;
    double next = slope > 0 ? tau + (sum - 1) / slope : low;
    if (!(next >= low && next <= high)) next = 0.5 * (low + high);
    if (std::abs(next - tau) <= 2e-16 || low == high) break;
    tau = next;
  }
  return tau;
}

// 1 up to alpha = 2, as J <= diag(r) and r <= 1; long rows come near it (docs/mathematics.md N5).
// There is no bound beyond 2.
double steepest(double alpha) {
  return alpha <= 2 ? 1 : std::numeric_limits<double>::infinity();
}

double square(double x) {
  return x * x;
}

// Computes ||diag(r) - r r^T / sum||_F by columns from r, the diagonal `entry` of the matrix and
// the place `top` of the largest r. That key stands apart, because in a nearly one-hot row r and
// r^2/sum cancel in its entry.
double ridge_frobenius(std::span<const double> r, std::span<const double> entry, std::size_t top,
                       double sum) {
  double next = 0;
  for (std::size_t i = 0; i < r.size(); ++i) next = std::max(next, i == top ? 0.0 : r[i]);
  const double u = r[top] / sum;
  const double unit =
      std::max({next, entry[top], u * next, r[top] * (next / sum), next / sum * next});
  if (!(unit > 1e-290)) return 0;
  const double inverse = 1 / unit, of_top = square(u), scale = square(unit);
  const auto left = [&](std::size_t i) { return i == top ? 0.0 : square(r[i] / sum * inverse); };
  double all = 0, found = 0;
  for (std::size_t i = 0; i < r.size(); ++i) all += left(i);
  for (std::size_t i = 0; i < r.size(); ++i) {
    found += i == top ? square(entry[top] * inverse) + square(r[top]) * all
                      : square(entry[i] * inverse) +
                            square(r[i] * inverse) * (of_top + scale * (all - left(i)));
  }
  return unit * std::sqrt(found);
}

// Entmax at the alpha of the row, of its logits times the scale of the row. Its Jacobian has the
// RIDGE form diag(r) - r r^T / sum r (docs/mathematics.md 6).
class Entmax final : public Normalizer {
 public:
  using OfRow = std::function<double(const RowContext&)>;
  // `lipschitz`: the supremum over all lengths.
  Entmax(NormalizerInfo info, OfRow alpha, OfRow scale, bool length_aware, double lipschitz)
      : info_(std::move(info)), alpha_(std::move(alpha)), scale_(std::move(scale)) {
    traits_.sparse = true;
    traits_.length_aware = length_aware;
    traits_.lipschitz = lipschitz;
  }
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override { return traits_; }
  double lipschitz(const RowContext& context) const override {
    return steepest(alpha_(context)) * scale_(context);
  }
  WeightSums weigh_row(std::span<const float> logits, const RowContext& context,
                       std::span<float> weights) const override {
    WeightSums sums;
    if (entmax_row(logits, alpha_(context), scale_(context), weights, sums)) return sums;
    return Normalizer::weigh_row(logits, context, weights);
  }
  void weigh_row(std::span<const double> logits, const RowContext& context,
                 std::span<double> weights) const override {
    if (logits.empty()) return;
    const double alpha = alpha_(context), scale = (alpha - 1) * scale_(context);
    const double p = 1 / (alpha - 1), top = *std::ranges::max_element(logits);
    std::vector<double> u;  // only keys that may be in the support
    for (const double l : logits) {
      if (const double x = (l - top) * scale; x > -1) u.push_back(x);
    }
    const double tau = threshold(u, p);
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double rest = (logits[i] - top) * scale - tau;
      weights[i] = rest > 0 ? power_of(rest, p) : 0.0;
      sum += weights[i];
    }
    for (std::size_t i = 0; i < logits.size(); ++i) weights[i] /= sum;
  }

  void jacobian(std::span<const double> logits, const RowContext& context,
                Jacobian& out) const override {
    std::vector<double> r(logits.size());
    const double sum = curvatures(logits, context, r);
    out.terms.clear();
    out.diagonal = r;
    if (sum == 0) return;
    std::vector<double> share = r;
    for (double& x : share) x /= sum;
    subtract_term(out, std::move(share), std::move(r));
  }
  // The bound is the minimum of max r, 2 max r (1 - r / sum r) and lipschitz(). Takes float64
  // weights: float32 weights cannot tell whether a key near the edge of the support has left it.
  JacobianNorms jacobian_norms(std::span<const float> logits, std::span<const float>,
                               const WeightSums&, const RowContext& context) const override {
    const std::size_t n = logits.size();
    thread_local std::vector<double> exact, r, entry;
    thread_local std::vector<float> narrow;
    exact.assign(logits.begin(), logits.end());
    r.resize(n);
    entry.resize(n);
    curvatures(exact, context, r);
    narrow.assign(r.begin(), r.end());
    const auto top = static_cast<std::size_t>(std::ranges::max_element(r) - r.begin());
    double rest = 0;
    for (std::size_t i = 0; i < n; ++i) rest += i == top ? 0.0 : r[i];
    JacobianNorms norms;
    norms.bound = 0;
    if (n == 0 || r[top] == 0) return norms;
    const double sum = r[top] + rest;
    for (std::size_t i = 0; i < n; ++i) entry[i] = r[i] * (i == top ? rest : sum - r[i]) / sum;
    norms.frobenius = ridge_frobenius(r, entry, top, sum);
    norms.spectral = ridge_root(narrow);
    norms.bound = std::min({r[top], 2 * std::ranges::max(entry), lipschitz(context)});
    return norms;
  }

 private:
  // Computes r of every key, and their sum.
  double curvatures(std::span<const double> logits, const RowContext& context,
                    std::span<double> r) const {
    weigh(logits, context, r);
    const double power = 2 - alpha_(context), scale = scale_(context);
    double sum = 0;
    for (double& x : r) {
      x = x > 0 ? scale * power_of(x, power) : 0.0;
      sum += x;
    }
    return sum;
  }

  NormalizerInfo info_;
  NormalizerTraits traits_;
  OfRow alpha_, scale_;
};

Entmax::OfRow always(double value) {
  return [=](const RowContext&) { return value; };
}

std::unique_ptr<Normalizer> make_entmax(const NormalizerInfo& info, double alpha) {
  return std::make_unique<Entmax>(info, always(alpha), always(1), false, steepest(alpha));
}

// The logarithm of the number of keys, at least 2: a single key has weight 1 under any alpha > 1.
double log_keys(const RowContext& context) {
  return std::log(static_cast<double>(std::max<Index>(context.visible, 2)));
}

std::unique_ptr<Normalizer> make_entmax_logn(const NormalizerInfo& info) {
  const double s = info.parameters.number("s");
  const auto alpha = [=](const RowContext& c) { return 2 - 1 / (1 + s * log_keys(c)); };
  return std::make_unique<Entmax>(info, alpha, always(1), true, 1.0);
}

std::unique_ptr<Normalizer> make_asentmax(const NormalizerInfo& info) {
  const Parameters& p = info.parameters;
  const double alpha = p.number("alpha"), delta = p.number("delta");
  const double beta = p.number("beta"), gamma = p.number("gamma");
  const auto scale = [=](const RowContext& c) {
    // A single key has weight 1 at any scale; (log 1)^gamma may be infinite.
    if (c.visible < 2) return std::max(delta, 1.0);
    return delta + beta * std::pow(std::log(static_cast<double>(c.visible)), gamma);
  };
  return std::make_unique<Entmax>(info, always(alpha), scale, true,
                                  std::numeric_limits<double>::infinity());
}

}  // namespace

NormalizerMakers entmax_normalizers() {
  return {
      {"sparsemax", [](const NormalizerInfo& info) { return make_entmax(info, 2); }},
      {"entmax",
       [](const NormalizerInfo& info) {
         return make_entmax(info, info.parameters.number("alpha"));
       }},
      {"asentmax", make_asentmax},
      {"entmax-logn", make_entmax_logn},
  };
}

}  // namespace headgauge
