// N12 softmax over the k largest logits (docs/mathematics.md 6).
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernels/softmax.hpp"
#include "kernels/top.hpp"
#include "normalize/families.hpp"
#include "normalize/scaled_softmax.hpp"

namespace headgauge {
namespace {

class TopK final : public Normalizer {
 public:
  TopK(NormalizerInfo info, std::size_t k) : info_(std::move(info)), k_(k) {}
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override {
    NormalizerTraits traits;
    traits.sparse = true;
    traits.increasing = true;
    return traits;
  }
  // Computes the weights of the kept keys and writes zeros for the others.
  WeightSums weigh_row(std::span<const float> logits, const RowContext&,
                       std::span<float> weights) const override {
    const Extremes bounds = extremes(logits);
    const bool finite = first_non_finite(logits) < 0;
    WeightSums sums;
    if (k_ >= logits.size()) {
      sums = softmax_row(logits, weights);
    } else {
      thread_local TopWorkspace work;
      thread_local std::vector<std::uint32_t> kept;
      thread_local std::vector<float> values;
      kept.resize(k_);
      values.resize(k_);
      select_top(logits, static_cast<Index>(k_), kept, work);
      for (std::size_t i = 0; i < k_; ++i) values[i] = logits[kept[i]];
      sums = softmax_row(values, values);
      sums.min = 0;
      if (!weights.empty()) {
        std::ranges::fill(weights, 0.0f);
        for (std::size_t i = 0; i < k_; ++i) weights[kept[i]] = values[i];
      }
    }
    sums.max_logit = bounds.max;
    sums.min_logit = bounds.min;
    sums.log_sum_exp = finite ? 0 : kUndefined;
    return sums;
  }
  // Ties at the k-th logit are kept at the lower positions.
  void weigh_row(std::span<const double> logits, const RowContext&,
                 std::span<double> weights) const override {
    const auto kept = largest(logits);
    std::vector<double> l(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) l[i] = logits[kept[i]];
    softmax_exact(l, 1, l);
    std::ranges::fill(weights, 0.0);
    for (std::size_t i = 0; i < kept.size(); ++i) weights[kept[i]] = l[i];
  }
  // Computes the Jacobian of softmax on the kept keys.
  void jacobian(std::span<const double> logits, const RowContext& context,
                Jacobian& out) const override {
    out.diagonal.resize(logits.size());
    weigh(logits, context, out.diagonal);
    out.terms.clear();
    subtract_term(out, out.diagonal, out.diagonal);
  }
  JacobianNorms jacobian_norms(std::span<const float>, std::span<const float> weights,
                               const WeightSums& sums, const RowContext&) const override {
    return softmax_norms(weights, sums, 1);
  }
  std::string notice(Index longest) const override {
    if (k_ <= 1) return {};
    if (static_cast<std::size_t>(longest) < k_) {
      return fmt::format("topk: k = {} exceeds the number of keys of every row: all keys are kept",
                         k_);
    }
    return fmt::format(
        "topk: rows with fewer than k = {} keys keep all keys; in a causal model these are the "
        "first {} rows",
        k_, k_ - 1);
  }

 private:
  std::vector<std::size_t> largest(std::span<const double> logits) const {
    std::vector<std::size_t> order(logits.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t k = std::min(k_, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(k),
                              [&](std::size_t i, std::size_t j) {
                                return logits[i] != logits[j] ? logits[i] > logits[j] : i < j;
                              });
    order.resize(k);
    return order;
  }

  NormalizerInfo info_;
  std::size_t k_;
};

}  // namespace

NormalizerMakers top_k_normalizers() {
  return {{"topk", [](const NormalizerInfo& info) -> std::unique_ptr<Normalizer> {
             return std::make_unique<TopK>(info,
                                           static_cast<std::size_t>(info.parameters.whole("k")));
           }}};
}

}  // namespace headgauge
