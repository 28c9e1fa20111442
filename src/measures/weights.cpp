#include "measures/weights.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/top.hpp"

namespace headgauge {
namespace {

// Entropy of the weights beyond the first key, renormalised. From the sums of the whole row where
// the first key holds less than half of a long row; directly elsewhere, because 1 - p_1 loses its
// digits, and so does a difference that is exactly 0 for two keys.
double entropy_without_first(const Row& row) {
  constexpr Index kShort = 16;
  const double total = row.sums.abs_mass;
  const double first = std::abs(static_cast<double>(row.weights[0])) / total;
  if (first < 0.5 && row.n() > kShort) {
    const double rest = 1 - first;
    const double term = first > 0 ? first * std::log(first) : 0;
    return (row.sums.entropy + term) / rest + std::log(rest);
  }
  double mass = 0;
  for (float w : row.weights.subspan(1)) mass += std::abs(w);
  if (mass == 0) return kUndefined;
  double entropy = 0;
  for (float w : row.weights.subspan(1)) {
    const double p = std::abs(static_cast<double>(w)) / mass;
    if (p > 0) entropy -= p * std::log(p);
  }
  return entropy;
}

double mean_distance(const Row& row) {
  double sum = 0;
  for (Index j = 0; j < row.n(); ++j) {
    const Index distance = std::abs(row.query - row.key(j));
    sum += std::abs(static_cast<double>(row.weights[j])) * static_cast<double>(distance);
  }
  return sum / row.sums.abs_mass;
}

class WeightsMeasure final : public Measure {
 public:
  explicit WeightsMeasure(int slots) : work_(slots) {}

  void declare(MetricRegistry& metrics) override {
    mass_ = metrics.add("mass");
    entropy_ = metrics.add("entropy");
    entropy_normalized_ = metrics.add("entropy_normalized");
    entropy_without_sink_ = metrics.add("entropy_without_sink");
    effective_tokens_ = metrics.add("effective_tokens");
    participation_ratio_ = metrics.add("participation_ratio");
    max_weight_ = metrics.add("max_weight");
    mass_90_ = metrics.add("mass_90");
    sink_weight_ = metrics.add("sink_weight");
    attention_distance_ = metrics.add("attention_distance");
    logit_range_ = metrics.add("logit_range");
    scaled_weight_min_ = metrics.add("scaled_weight_min");
    scaled_weight_max_ = metrics.add("scaled_weight_max");
    visible_keys_ = metrics.add("visible_keys");
  }

  MeasureNeeds needs() const override { return {.weights = true}; }

  void observe(const RowBlock& block, int slot, RowSink& sink) override {
    Workspace& work = work_[slot];
    const bool is_signed = block.normalizer->traits().is_signed;
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      const auto n = static_cast<double>(row.n());
      const WeightSums& sums = row.sums;
      sink.set(r, mass_, sums.mass);
      sink.set(r, max_weight_, sums.max);
      // The first key of the text, which a sliding window may have left behind or a mask hidden.
      sink.set(r, sink_weight_, row.key(0) == 0 ? row.weights[0] : 0.0);
      sink.set(r, logit_range_, sums.max_logit - sums.min_logit);
      sink.set(r, scaled_weight_min_, n * sums.min);
      sink.set(r, scaled_weight_max_, n * sums.max);
      sink.set(r, visible_keys_, n);
      if (sums.abs_mass == 0) continue;  // no distribution over keys
      sink.set(r, entropy_, sums.entropy);
      sink.set(r, effective_tokens_, std::exp(sums.entropy));
      sink.set(r, participation_ratio_, sums.abs_mass * sums.abs_mass / sums.square);
      std::span<const float> magnitudes = row.weights;
      if (is_signed) {
        work.magnitudes.resize(row.weights.size());
        std::ranges::transform(row.weights, work.magnitudes.begin(),
                               [](float w) { return std::abs(w); });
        magnitudes = work.magnitudes;
      }
      sink.set(r, mass_90_, static_cast<double>(mass_quantile(magnitudes, 0.9, work.select)));
      if (!block.head->cross) sink.set(r, attention_distance_, mean_distance(row));
      if (row.n() < 2) continue;
      sink.set(r, entropy_normalized_, sums.entropy / std::log(n));
      sink.set(r, entropy_without_sink_, entropy_without_first(row));
    }
  }

 private:
  struct Workspace {
    TopWorkspace select;
    std::vector<float> magnitudes;  // of signed weights
  };
  MetricHandle mass_, entropy_, entropy_normalized_, entropy_without_sink_, effective_tokens_,
      participation_ratio_, max_weight_, mass_90_, sink_weight_, attention_distance_, logit_range_,
      scaled_weight_min_, scaled_weight_max_, visible_keys_;
  std::vector<Workspace> work_;
};

}  // namespace

std::unique_ptr<Measure> make_weights_measure(int slots) {
  return std::make_unique<WeightsMeasure>(slots);
}

}  // namespace headgauge
