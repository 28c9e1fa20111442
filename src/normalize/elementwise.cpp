// Normalizers that transform each logit on its own: N8 sigmoid, N11 ReLU and its family, N13
// polynomial (docs/mathematics.md 6). Their Jacobians are diagonal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "kernels/pointwise.hpp"
#include "kernels/weight_sums.hpp"
#include "normalize/families.hpp"
#include "normalize/functions.hpp"

namespace headgauge {
namespace {

// a_i = n^-power h(l_i + shift(n)).
class Elementwise final : public Normalizer {
 public:
  struct Parts {
    ScalarFunction h;
    double power = 0;          // the power of 1/n
    bool shift_log_n = false;  // shift = -log n
    double shift = 0;
    std::optional<PointwiseFunction> function;  // h in the kernels, if they have it
    int kernel_power = 1;
    int odd_power = 0;  // h(x) = x^odd_power if > 0
    NormalizerTraits traits;
  };
  Elementwise(NormalizerInfo info, Parts parts) : info_(std::move(info)), parts_(std::move(parts)) {
    parts_.traits.simplex = false;
    parts_.traits.length_aware = parts_.power != 0 || parts_.shift_log_n;
  }
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override { return parts_.traits; }

  WeightSums weigh_row(std::span<const float> logits, const RowContext& context,
                       std::span<float> weights) const override {
    if (parts_.function) {
      const PointwiseKernel kernel = {*parts_.function, static_cast<float>(shift_of(context)),
                                      parts_.kernel_power, factor_of(context)};
      WeightSums sums;
      if (weigh_pointwise(kernel, logits, weights, sums)) return sums;
    }
    if (parts_.odd_power > 0) return weigh_odd_power(logits, factor_of(context), weights);
    return Normalizer::weigh_row(logits, context, weights);
  }
  void weigh_row(std::span<const double> logits, const RowContext& context,
                 std::span<double> weights) const override {
    const double factor = factor_of(context), shift = shift_of(context);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      weights[i] = factor * parts_.h.value(logits[i] + shift);
    }
  }
  void jacobian(std::span<const double> logits, const RowContext& context,
                Jacobian& out) const override {
    const double factor = factor_of(context), shift = shift_of(context);
    out.terms.clear();
    out.diagonal.resize(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      out.diagonal[i] = factor * parts_.h.slope(logits[i] + shift);
    }
  }
  JacobianNorms jacobian_norms(std::span<const float> logits, std::span<const float>,
                               const WeightSums&, const RowContext& context) const override {
    const double factor = factor_of(context), shift = shift_of(context);
    double largest = 0;
    thread_local std::vector<double> slopes;
    slopes.resize(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      slopes[i] = std::abs(parts_.h.slope(logits[i] + shift));
      largest = std::max(largest, slopes[i]);
    }
    JacobianNorms norms;
    if (std::isfinite(lipschitz(context))) norms.bound = lipschitz(context);
    if (largest == 0) return norms;
    double square = 0;
    for (const double slope : slopes) square += (slope / largest) * (slope / largest);
    norms.spectral = factor * largest;
    norms.frobenius = norms.spectral * std::sqrt(square);
    return norms;
  }
  double lipschitz(const RowContext& context) const override {
    return parts_.traits.lipschitz * factor_of(context);
  }

 private:
  WeightSums weigh_odd_power(std::span<const float> logits, double factor,
                             std::span<float> weights) const {
    thread_local AlignedVector<float> powers;
    powers.resize(logits.size());
    const auto by = static_cast<float>(factor);
    for (std::size_t i = 0; i < logits.size(); ++i) powers[i] = by * logits[i];
    for (int p = 1; p < parts_.odd_power; ++p) {
      for (std::size_t i = 0; i < logits.size(); ++i) powers[i] *= logits[i];
    }
    const WeightSums sums = sum_weights(powers, logits);
    std::ranges::copy(std::span(powers).first(weights.size()), weights.begin());
    return sums;
  }
  double factor_of(const RowContext& context) const {
    return std::pow(static_cast<double>(context.visible), -parts_.power);
  }
  double shift_of(const RowContext& context) const {
    return parts_.shift_log_n ? -std::log(static_cast<double>(context.visible)) : parts_.shift;
  }

  NormalizerInfo info_;
  Parts parts_;
};

std::unique_ptr<Normalizer> make_sigmoid(const NormalizerInfo& info) {
  Elementwise::Parts parts;
  parts.h = scalar_function("sigmoid");
  parts.function = PointwiseFunction::kSigmoid;
  parts.traits.lipschitz = 0.25;
  parts.shift_log_n = !info.parameters.is_number("b");
  if (!parts.shift_log_n) parts.shift = info.parameters.number("b");
  return std::make_unique<Elementwise>(info, parts);
}

std::optional<PointwiseFunction> kernel_of(std::string_view h, double power) {
  if (h == "relu" && power <= 16 && power == std::floor(power)) return PointwiseFunction::kRelu;
  if (h == "relu6") return PointwiseFunction::kRelu6;
  if (h == "softplus") return PointwiseFunction::kSoftplus;
  if (h == "sigmoid") return PointwiseFunction::kSigmoid;
  return std::nullopt;
}

std::unique_ptr<Normalizer> make_relu(const NormalizerInfo& info) {
  Elementwise::Parts parts;
  const std::string& h = info.parameters.word("h");
  const double power = info.parameters.number("power");
  parts.power = info.parameters.number("alpha");
  if (h != "relu" && power != 1) {
    throw UsageError(fault("normalizer relu, parameter power", "1 unless h=relu",
                           fmt::format("{} with h={}", power, h), "remove one of them"));
  }
  parts.h = h == "relu" && power != 1 ? relu_power(power) : scalar_function(h);
  parts.function = kernel_of(h, power);
  parts.kernel_power = static_cast<int>(std::min(power, 16.0));
  if (h == "identity") parts.odd_power = 1;
  parts.traits.sparse = h == "relu" || h == "relu6";
  parts.traits.is_signed = h == "identity" || h == "gelu";
  parts.traits.increasing = h != "gelu";
  if (power == 1) parts.traits.lipschitz = parts.h.steepest;
  return std::make_unique<Elementwise>(info, parts);
}

std::unique_ptr<Normalizer> make_poly(const NormalizerInfo& info) {
  Elementwise::Parts parts;
  const int power = static_cast<int>(info.parameters.whole("p"));
  parts.h = integer_power(power);
  parts.power = 0.5;
  parts.kernel_power = power;
  if (parts.kernel_power % 2 == 0) {
    parts.function = PointwiseFunction::kEvenPower;
  } else {
    parts.odd_power = parts.kernel_power;
  }
  parts.traits.is_signed = power % 2 == 1;
  parts.traits.increasing = parts.traits.is_signed;
  if (power == 1) parts.traits.lipschitz = 1;
  return std::make_unique<Elementwise>(info, parts);
}

}  // namespace

NormalizerEntries elementwise_normalizers() {
  return {
      {{"sigmoid",
        "a_i = 1 / (1 + exp(-(l_i + b))); b=-logn is -log n",
        {{.key = "b", .initial = "-logn", .domain = kAnyNumber, .words = {"-logn"}}},
        "Ramapuram et al. 2024 (arXiv 2409.04431); docs/mathematics.md N8",
        "1/4",
        "does not apply: weights are not normalised by a sum"},
       make_sigmoid},
      {{"relu",
        "a_i = n^-alpha relu(l_i)^power; h=gelu, softplus, identity, relu6 or sigmoid replaces "
        "relu",
        {{.key = "power", .initial = 1.0, .domain = kPositive},
         {.key = "alpha", .initial = 1.0, .domain = NumberDomain{.lowest = 0, .highest = 1}},
         {.key = "h",
          .initial = "relu",
          .words = {"relu", "gelu", "softplus", "identity", "relu6", "sigmoid"},
          .always_listed = false}},
        "Wortsman et al. 2023 (arXiv 2309.08586); docs/mathematics.md N11",
        "n^-alpha sup|h'|; none for power other than 1",
        "does not apply: weights are not normalised by a sum"},
       make_relu},
      {{"poly",
        "a_i = l_i^p / sqrt(n)",
        {{.key = "p",
          .initial = 3.0,
          .domain = NumberDomain{.lowest = 1, .highest = 16, .whole = true}}},
        "Saratchandran et al. 2024 (arXiv 2410.18613); docs/mathematics.md N13",
        "none for p > 1: the slope grows with |l|",
        "does not apply: weights are not normalised by a sum, nor positive"},
       make_poly},
  };
}

}  // namespace headgauge
