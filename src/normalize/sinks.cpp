// N9 softmax with a sink: off-by-one and learned (docs/mathematics.md 6).

#include <algorithm>
#include <cmath>

#include "kernels/softmax.hpp"
#include "normalize/families.hpp"
#include "normalize/scaled_softmax.hpp"

namespace headgauge {
namespace {

// a_i = exp(l_i) / (e^b + sum_j exp(l_j)): softmax with an added key of logit b, whose weight is
// dropped.
class SinkSoftmax final : public Normalizer {
 public:
  SinkSoftmax(NormalizerInfo info, double sink) : info_(std::move(info)), sink_(sink) {}
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override {
    NormalizerTraits traits;
    traits.simplex = false;
    traits.has_sink = true;
    traits.lipschitz = 0.5;
    return traits;
  }

  WeightSums weigh_row(std::span<const float> logits, const RowContext&,
                       std::span<float> weights) const override {
    WeightSums sums = softmax_row(logits, weights);
    const double share = 1 / (1 + std::exp(sink_ - sums.log_sum_exp));
    for (float& w : weights) w *= static_cast<float>(share);
    sums.mass = sums.abs_mass = share;
    sums.max *= share;
    sums.min *= share;
    sums.rest_mass *= share;
    for (double* square : {&sums.square, &sums.rest_square}) *square *= share * share;
    for (double* cube : {&sums.cube, &sums.rest_cube}) *cube *= share * share * share;
    return sums;
  }
  void weigh_row(std::span<const double> logits, const RowContext&,
                 std::span<double> weights) const override {
    if (logits.empty()) return;
    const double top = std::max(sink_, *std::ranges::max_element(logits));
    double sum = std::exp(sink_ - top);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      weights[i] = std::exp(logits[i] - top);
      sum += weights[i];
    }
    for (double& w : weights) w /= sum;
  }

  // The Jacobian is diag(a) - a a^T.
  void jacobian(std::span<const double> logits, const RowContext& context,
                Jacobian& out) const override {
    out.diagonal.resize(logits.size());
    weigh(logits, context, out.diagonal);
    out.terms.clear();
    subtract_term(out, out.diagonal, out.diagonal);
  }

 private:
  NormalizerInfo info_;
  double sink_;
};

}  // namespace

NormalizerMakers sink_normalizers() {
  return {
      {"softmax1",
       [](const NormalizerInfo& info) -> std::unique_ptr<Normalizer> {
         return std::make_unique<SinkSoftmax>(info, 0.0);
       }},
      {"sink",
       [](const NormalizerInfo& info) -> std::unique_ptr<Normalizer> {
         return std::make_unique<SinkSoftmax>(info, info.parameters.number("b"));
       }},
  };
}

}  // namespace headgauge
