#include "normalize/pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "normalize/families.hpp"
#include "normalize/one_term.hpp"
#include "normalize/scaled_softmax.hpp"

namespace headgauge {
namespace {

// If the largest F of a row is in this range, float64 holds small F and the sum in full precision.
constexpr double kLeast = 1e-200, kMost = 1e200;

}  // namespace

PointwiseNormalizer::PointwiseNormalizer(NormalizerInfo info, ScalarFunction f,
                                         std::optional<PointwiseKernel> kernel)
    : info_(std::move(info)), f_(std::move(f)), kernel_(kernel) {
  if (kernel_) kernel_->normalised = true;
  traits_.pointwise = true;
  traits_.increasing = f_.increasing;
  traits_.lipschitz = f_.relative / 2;  // L2v (a): G/2
}

WeightSums PointwiseNormalizer::weigh_row(std::span<const float> logits, const RowContext& context,
                                          std::span<float> weights) const {
  WeightSums sums;
  if (kernel_ && weigh_pointwise(*kernel_, logits, weights, sums)) return sums;
  return Normalizer::weigh_row(logits, context, weights);
}

bool PointwiseNormalizer::by_logarithms(std::span<const double> logits) const {
  if (!f_.log || logits.empty()) return false;
  const double top = f_.value(*std::ranges::max_element(logits));
  return top < kLeast || top > kMost;
}

void PointwiseNormalizer::weigh_row(std::span<const double> logits, const RowContext&,
                                    std::span<double> weights) const {
  if (by_logarithms(logits)) {
    std::ranges::transform(logits, weights.begin(), f_.log);
    return softmax_exact(weights, 1, weights);
  }
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    weights[i] = f_.value(logits[i]);
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      throw AttentionError(fault("normalizer " + info_.name, "F(l) > 0 and finite",
                                 fmt::format("F({}) = {}", logits[i], weights[i]),
                                 "choose another normalizer or smaller logits"));
    }
    sum += weights[i];
  }
  if (sum == 0) return;
  for (std::size_t i = 0; i < logits.size(); ++i) weights[i] /= sum;
}

// J_ij = (F'_j / S) (delta_ij - a_i) (D4.1).
void PointwiseNormalizer::jacobian(std::span<const double> logits, const RowContext& context,
                                   Jacobian& out) const {
  std::vector<double> a(logits.size());
  weigh(logits, context, a);
  out.terms.clear();
  out.diagonal.resize(logits.size());
  if (by_logarithms(logits)) {
    for (std::size_t i = 0; i < a.size(); ++i) out.diagonal[i] = a[i] * f_.log_slope(logits[i]);
    return subtract_term(out, std::move(a), out.diagonal);
  }
  double sum = 0;
  for (const double l : logits) sum += f_.value(l);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out.diagonal[i] = sum > 0 ? f_.slope(logits[i]) / sum : 0.0;
  }
  subtract_term(out, std::move(a), out.diagonal);
}

// diag(g) - a g^T with g = F' / S = a F' / F.
void PointwiseNormalizer::one_term(std::span<const float> logits, std::span<const float> weights,
                                   const WeightSums& sums, OneTerm& j) const {
  const std::size_t n = logits.size();
  j.resize(n);
  double per_slope = 0;  // 1/S
  if (!f_.log_slope && sums.max > 0) {
    const auto top = std::ranges::max_element(weights) - weights.begin();
    per_slope = weights[top] / f_.value(logits[top]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double a = weights[i], l = logits[i];
    const double g = !f_.log_slope ? f_.slope(l) * per_slope : a > 0 ? a * f_.log_slope(l) : 0.0;
    j.left[i] = -a;
    j.right[i] = j.diagonal[i] = g;
    j.entry[i] = g * rest_of(a, sums);
  }
}

Normalizer::JacobianNorms PointwiseNormalizer::jacobian_norms(std::span<const float> logits,
                                                              std::span<const float> weights,
                                                              const WeightSums& sums,
                                                              const RowContext&) const {
  thread_local OneTerm j;
  one_term(logits, weights, sums, j);
  JacobianNorms norms = one_term_norms(j, std::numeric_limits<double>::infinity());
  // L2v: min of (a) G/2, (c) 2 G max a(1-a), (d) G max a, (f) max|F'|/S sqrt(n) ||a||, with
  // G = max |F'/F| over the row; L2, first form: max|F'| (1/S + sqrt(n) ||F|| / S^2).
  double g = 0, steepest = 0, product = 0, largest = 0, square = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double a = -j.left[i], slope = std::abs(j.diagonal[i]);  // |F'| / S
    if (a > 0) g = std::max(g, slope / a);
    steepest = std::max(steepest, slope);
    product = std::max(product, a * rest_of(a, sums));
    largest = std::max(largest, a);
    square += a * a;
  }
  const double spread = std::sqrt(static_cast<double>(logits.size()) * square);
  norms.bound = std::min({g / 2, 2 * g * product, g * largest, steepest * spread});
  norms.bound_paper = steepest * (1 + spread);
  return norms;
}

std::optional<Lemma1Constants> PointwiseNormalizer::lemma1_constants(double range) const {
  const auto [low, high] = f_.range(range);
  if (!(low > 0)) return std::nullopt;
  return Lemma1Constants{low / high, high / low};
}

std::unique_ptr<Normalizer> make_pointwise(NormalizerInfo info, ScalarFunction f) {
  return std::make_unique<PointwiseNormalizer>(std::move(info), std::move(f));
}

namespace {

std::optional<PointwiseKernel> kernel_of(std::string_view f) {
  if (f == "softplus") return PointwiseKernel{.function = PointwiseFunction::kSoftplus};
  if (f == "sigmoid") return PointwiseKernel{.function = PointwiseFunction::kSigmoid};
  if (f == "1+l^2") return PointwiseKernel{.function = PointwiseFunction::kOnePlusSquare};
  if (f == "taylor2") return PointwiseKernel{.function = PointwiseFunction::kTaylor2};
  return std::nullopt;
}

}  // namespace

NormalizerEntries pointwise_normalizers() {
  return {
      {{"pointwise",
        "a_i = F(l_i) / sum_j F(l_j), F = exp, softplus, sigmoid, 1+l^2 or taylor2",
        {{.key = "f",
          .initial = "softplus",
          .words = {"exp", "softplus", "sigmoid", "1+l^2", "taylor2"}}},
        "paper A, section 2; docs/mathematics.md D1.2",
        "sup|F'/F|/2 = 1/2",
        "applies"},
       [](const NormalizerInfo& info) -> std::unique_ptr<Normalizer> {
         const std::string& f = info.parameters.word("f");
         return std::make_unique<PointwiseNormalizer>(info, scalar_function(f), kernel_of(f));
       }},
      {{"taylor2",
        "a_i = F(l_i) / sum_j F(l_j), F = 1 + l + l^2/2",
        {},
        "TaylorShift, Based; docs/mathematics.md N13",
        "1/2",
        "applies"},
       [](const NormalizerInfo& info) -> std::unique_ptr<Normalizer> {
         return std::make_unique<PointwiseNormalizer>(info, scalar_function("taylor2"),
                                                      kernel_of("taylor2"));
       }},
      {{"poly-normalized",
        "a_i = (1 + l_i/m)^m / sum_j (1 + l_j/m)^m, m even",
        {{.key = "m",
          .initial = 4.0,
          .domain = NumberDomain{.lowest = 2, .highest = 32, .whole = true, .even = true}}},
        "docs/mathematics.md N13",
        "none: F is 0 at l = -m",
        "applies for |l| < m only: F is 0 at l = -m"},
       [](const NormalizerInfo& info) -> std::unique_ptr<Normalizer> {
         const int power = static_cast<int>(info.parameters.whole("m"));
         return std::make_unique<PointwiseNormalizer>(
             info, shifted_power(power),
             PointwiseKernel{.function = PointwiseFunction::kShiftedPower, .power = power});
       }},
  };
}

}  // namespace headgauge
