// N1 softmax, N2 scalable softmax, N3 the log-n family and N15 cosine (docs/mathematics.md 6).
#include "normalize/scaled_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/ridge.hpp"
#include "kernels/softmax.hpp"
#include "normalize/families.hpp"

namespace headgauge {
namespace {

// Computes sqrt(Q2 - 2 Q3 + Q2^2). With one largest weight 1 - b these terms cancel, so the code
// expands the form about b: a^2 b^2 + q2 (1 + 2 a^2 + q2) - 2 q3, with q the sums without the
// largest.
double frobenius(std::span<const float> weights, const WeightSums& sums) {
  if (sums.max_count != 1) {
    return std::sqrt(std::max(0.0, sums.square - 2 * sums.cube + sums.square * sums.square));
  }
  const double a = sums.max, b = sums.rest_mass;
  double q2 = sums.rest_square;
  if (b < 1e-10) {  // squares of these weights are below float32's range
    q2 = 0;
    for (float w : weights) q2 += w < 0.5f ? static_cast<double>(w) * w : 0.0;
  }
  return std::sqrt(a * a * b * b + q2 * (1 + 2 * a * a + q2) - 2 * sums.rest_cube);
}

// Computes max_i a_i (1 - a_i): a(1-a) increases up to 1/2, so only the two largest weights matter.
double largest_product(TwoLargest largest, const WeightSums& sums) {
  const double at_max = sums.max * (sums.max_count == 1 ? sums.rest_mass : 1 - sums.max);
  const double second = largest.second;
  return std::max(at_max, second * (1 - second));
}

}  // namespace

void softmax_exact(std::span<const double> logits, double scale, std::span<double> weights) {
  if (logits.empty()) return;
  const double top =
      scale < 0 ? *std::ranges::min_element(logits) : *std::ranges::max_element(logits);
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    weights[i] = std::exp((logits[i] - top) * scale);
    sum += weights[i];
  }
  for (double& w : weights) w /= sum;
}

void subtract_term(Jacobian& jacobian, std::vector<double> left, std::vector<double> right) {
  for (double& x : left) x = -x;
  jacobian.terms.push_back({std::move(left), std::move(right)});
}

Normalizer::JacobianNorms softmax_norms(std::span<const float> weights, const WeightSums& sums,
                                        double scale) {
  Normalizer::JacobianNorms norms;
  norms.frobenius = frobenius(weights, sums) * scale;
  norms.spectral = ridge_root(weights) * scale;
  return norms;
}

ScaledSoftmax::ScaledSoftmax(NormalizerInfo info, NormalizerTraits traits, Scale scale)
    : info_(std::move(info)), traits_(traits), scale_(std::move(scale)) {}

WeightSums ScaledSoftmax::weigh_row(std::span<const float> logits, const RowContext& context,
                                    std::span<float> weights) const {
  return softmax_row(logits, weights, static_cast<float>(scale_(context)));
}

void ScaledSoftmax::weigh_row(std::span<const double> logits, const RowContext& context,
                              std::span<double> weights) const {
  softmax_exact(logits, scale_(context), weights);
}

// c (diag(a) - a a^T).
void ScaledSoftmax::jacobian(std::span<const double> logits, const RowContext& context,
                             Jacobian& out) const {
  const double scale = scale_(context);
  std::vector<double> a(logits.size());
  softmax_exact(logits, scale, a);
  out.terms.clear();
  out.diagonal = a;
  for (double& x : out.diagonal) x *= scale;
  subtract_term(out, out.diagonal, a);
}

Normalizer::JacobianNorms ScaledSoftmax::jacobian_norms(std::span<const float>,
                                                        std::span<const float> weights,
                                                        const WeightSums& sums,
                                                        const RowContext& context) const {
  const double scale = scale_(context);
  JacobianNorms norms = softmax_norms(weights, sums, scale);
  const double n = static_cast<double>(context.visible);
  // L2v: (a) G/2, (c) 2 G max a(1-a), (d) G max a, (f) max|F'|/S sqrt(n) ||a||, with G = c and
  // F'/S = c a. a(1-a) is largest at the weight nearest to 1/2: at most max(1-max) or 1/4.
  const double gershgorin = 2.0 * largest_product(two_largest(weights), sums);
  const double norm = std::sqrt(sums.square);
  norms.bound = std::min({0.5, gershgorin, sums.max, sums.max * std::sqrt(n) * norm}) * scale;
  // L2, first form: max|F'| (1/S + sqrt(n) ||F|| / S^2).
  norms.bound_paper = sums.max * (1.0 + std::sqrt(n) * norm) * scale;
  return norms;
}

namespace {

using Made = std::unique_ptr<Normalizer>;

Made by_length(NormalizerInfo info, ScaledSoftmax::Scale scale) {
  NormalizerTraits traits;
  traits.length_aware = true;
  return std::make_unique<ScaledSoftmax>(std::move(info), traits, std::move(scale));
}

Made fixed(NormalizerInfo info, double scale) {
  NormalizerTraits traits;
  traits.pointwise = true;
  traits.lipschitz = scale / 2;  // attained at two equal logits (C-6)
  return std::make_unique<ScaledSoftmax>(std::move(info), traits,
                                         [scale](const RowContext&) { return scale; });
}

}  // namespace

NormalizerMakers scaled_softmax_normalizers() {
  return {
      {"softmax",
       [](const NormalizerInfo& info) -> Made {
         return fixed(info, 1 / info.parameters.number("t"));
       }},
      {"uniform", [](const NormalizerInfo& info) -> Made { return fixed(info, 0); }},
      // softmax(c l) with a scale c that depends on the length or the position.
      {"ssmax",
       [](const NormalizerInfo& info) -> Made {
         const double s = info.parameters.number("s"), b = info.parameters.number("b");
         return by_length(info, [s, b](const RowContext& c) {
           return s * std::log(static_cast<double>(c.visible)) + b;
         });
       }},
      {"logn",
       [](const NormalizerInfo& info) -> Made {
         return by_length(
             info, [](const RowContext& c) { return std::log(static_cast<double>(c.visible)); });
       }},
      {"logn-qwen",
       [](const NormalizerInfo& info) -> Made {
         const double train = info.parameters.number("train");
         NormalizerTraits traits;
         traits.length_aware = traits.by_position = true;
         return std::make_unique<ScaledSoftmax>(info, traits, [train](const RowContext& c) {
           return std::max(1.0, std::log(static_cast<double>(c.position + 1)) / std::log(train));
         });
       }},
      {"logn-entropy",
       [](const NormalizerInfo& info) -> Made {
         const double train = info.parameters.number("train");
         return by_length(info, [train](const RowContext& c) {
           return std::sqrt(std::log(static_cast<double>(c.visible)) / std::log(train));
         });
       }},
      {"yarn",
       [](const NormalizerInfo& info) -> Made {
         const double factor = info.parameters.number("factor");
         const double m = factor <= 1 ? 1.0 : 0.1 * std::log(factor) + 1;
         return fixed(info, m * m);
       }},
      {"cosine",
       [](const NormalizerInfo& info) -> Made {
         const double g = info.parameters.number("g");
         NormalizerTraits traits;
         traits.pointwise = true;
         traits.unit_norms = true;
         traits.lipschitz = g / 2;
         return std::make_unique<ScaledSoftmax>(info, traits, [g](const RowContext&) { return g; });
       }},
  };
}

}  // namespace headgauge
