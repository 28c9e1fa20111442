// N8 sigmoid (docs/mathematics.md 6). Its Jacobian is diagonal.
#include <algorithm>
#include <cmath>

#include "kernels/pointwise.hpp"
#include "normalize/families.hpp"

namespace headgauge {
namespace {

double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

double sigmoid_slope(double x) {
  return sigmoid(x) * sigmoid(-x);
}

// a_i = sigmoid(l_i + b), b = -log n unless it is given.
class Sigmoid final : public Normalizer {
 public:
  explicit Sigmoid(NormalizerInfo info) : info_(std::move(info)) {
    traits_.simplex = false;
    traits_.length_aware = !info_.parameters.is_number("b");
    traits_.lipschitz = 0.25;
    if (!traits_.length_aware) b_ = info_.parameters.number("b");
  }
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override { return traits_; }

  WeightSums weigh_row(std::span<const float> logits, const RowContext& context,
                       std::span<float> weights) const override {
    WeightSums sums;
    const auto shift = static_cast<float>(shift_of(context));
    if (weigh_pointwise({PointwiseFunction::kSigmoid, shift}, logits, weights, sums)) return sums;
    return Normalizer::weigh_row(logits, context, weights);
  }
  void weigh_row(std::span<const double> logits, const RowContext& context,
                 std::span<double> weights) const override {
    const double shift = shift_of(context);
    std::ranges::transform(logits, weights.begin(), [=](double l) { return sigmoid(l + shift); });
  }
  void jacobian(std::span<const double> logits, const RowContext& context,
                Jacobian& out) const override {
    const double shift = shift_of(context);
    out.terms.clear();
    out.diagonal.resize(logits.size());
    std::ranges::transform(logits, out.diagonal.begin(),
                           [=](double l) { return sigmoid_slope(l + shift); });
  }
  JacobianNorms jacobian_norms(std::span<const float> logits, std::span<const float>,
                               const WeightSums&, const RowContext& context) const override {
    const double shift = shift_of(context);
    thread_local std::vector<double> slopes;
    slopes.resize(logits.size());
    std::ranges::transform(logits, slopes.begin(),
                           [=](float l) { return sigmoid_slope(l + shift); });
    JacobianNorms norms;
    norms.bound = traits_.lipschitz;
    for (const double s : slopes) norms.spectral = std::max(norms.spectral, s);
    if (norms.spectral == 0) return norms;
    double square = 0;
    for (const double s : slopes) square += (s / norms.spectral) * (s / norms.spectral);
    norms.frobenius = norms.spectral * std::sqrt(square);
    return norms;
  }

 private:
  double shift_of(const RowContext& context) const {
    return traits_.length_aware ? -std::log(static_cast<double>(context.visible)) : b_;
  }

  NormalizerInfo info_;
  NormalizerTraits traits_;
  double b_ = 0;
};

}  // namespace

NormalizerMakers sigmoid_normalizers() {
  return {{"sigmoid", [](const NormalizerInfo& info) -> std::unique_ptr<Normalizer> {
             return std::make_unique<Sigmoid>(info);
           }}};
}

}  // namespace headgauge
