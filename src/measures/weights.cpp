#include "measures/weights.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/top.hpp"

namespace headgauge {
namespace {

// Cells in the order of metrics().
enum Cell : Index {
  kMass,
  kEntropy,
  kEntropyNormalized,
  kEntropyWithoutSink,
  kEffectiveTokens,
  kParticipationRatio,
  kMaxWeight,
  kMass90,
  kSinkWeight,
  kAttentionDistance,
  kLogitRange,
  kScaledWeightMin,
  kScaledWeightMax,
  kVisibleKeys,
};

const std::vector<MetricInfo>& weights_metrics() {
  static const std::vector<MetricInfo> all = [] {
    const auto metric = [](std::string name, std::string unit, std::string formula,
                           std::string source, std::string meaning) {
      MetricInfo info;
      info.name = std::move(name);
      info.group = "weights";
      info.unit = std::move(unit);
      info.formula = std::move(formula);
      info.source = std::move(source);
      info.meaning = std::move(meaning);
      info.by_position = true;
      return info;
    };
    std::vector<MetricInfo> metrics = {
        metric("mass", "1", "sum_j a_j", "docs/mathematics.md 7a", "total weight; 1 for a softmax"),
        metric("entropy", "nats", "-sum_j p_j log p_j, p = a / sum a",
               "docs/mathematics.md G1; Zhai et al. 2023",
               "spread of the weights: 0 on one key, log n over all n alike"),
        metric("entropy_normalized", "1", "entropy / log n, rows n >= 2", "docs/mathematics.md G1",
               "0: one key; 1: every key alike, nothing is selected"),
        metric("entropy_without_sink", "nats", "entropy of p over keys 2..n, renormalised",
               "docs/mathematics.md 7a", "spread of what does not go to the first key"),
        metric("effective_tokens", "keys", "exp(entropy), mean of the rows' values",
               "docs/mathematics.md G4", "number of keys that the row spreads over"),
        metric("participation_ratio", "keys", "1 / sum_j p_j^2", "docs/mathematics.md G4 (Kish)",
               "number of keys that carry the row; counts small weights less"),
        metric("max_weight", "1", "max_j a_j", "docs/mathematics.md 7a", "the largest weight"),
        metric("mass_90", "keys", "smallest k whose k largest weights hold 90 % of the mass",
               "docs/mathematics.md G4", "keys needed for 90 % of the weight"),
        metric("sink_weight", "1", "a_1", "docs/mathematics.md G3; Gu et al. 2024",
               "weight on the first key of the text; 0 where the row does not see it"),
        metric("attention_distance", "tokens", "sum_j p_j |t - j|", "docs/mathematics.md G4",
               "how far back the row looks on average"),
        metric("logit_range", "1", "max l - min l", "docs/mathematics.md G6",
               "spread of the scaled scores"),
        metric("scaled_weight_min", "1", "n min_j a_j",
               "paper A, Lemma 1 (C1); docs/mathematics.md L1",
               "smallest weight against an even share"),
        metric("scaled_weight_max", "1", "n max_j a_j",
               "paper A, Lemma 1 (C2); docs/mathematics.md L1",
               "largest weight against an even share"),
        metric("visible_keys", "keys", "n", "docs/mathematics.md 2, row conventions",
               "number of keys that a row sees"),
    };
    metrics.back().by_position = false;
    return metrics;
  }();
  return all;
}

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
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const auto distance = std::abs(row.query - row.key(static_cast<Index>(j)));
    sum += std::abs(static_cast<double>(row.weights[j])) * static_cast<double>(distance);
  }
  return sum / row.sums.abs_mass;
}

class WeightsMeasure final : public Measure {
 public:
  explicit WeightsMeasure(int slots) : work_(static_cast<std::size_t>(slots)) {}

  const std::vector<MetricInfo>& metrics() const override { return weights_metrics(); }
  MeasureNeeds needs() const override { return {.weights = true}; }
  Index dim_size(std::string_view) const override { return 1; }

  void observe(const RowBlock& block, int slot, RowSink& sink) override {
    Workspace& work = work_[static_cast<std::size_t>(slot)];
    const bool is_signed = block.normalizer->traits().is_signed;
    for (Index r = 0; r < static_cast<Index>(block.rows.size()); ++r) {
      const Row& row = block.rows[static_cast<std::size_t>(r)];
      const auto n = static_cast<double>(row.n());
      const WeightSums& sums = row.sums;
      sink.set(r, kMass, sums.mass);
      sink.set(r, kMaxWeight, sums.max);
      // The first key of the text, which a sliding window may have left behind or a mask hidden.
      sink.set(r, kSinkWeight, row.key(0) == 0 ? row.weights[0] : 0.0);
      sink.set(r, kLogitRange, sums.max_logit - sums.min_logit);
      sink.set(r, kScaledWeightMin, n * sums.min);
      sink.set(r, kScaledWeightMax, n * sums.max);
      sink.set(r, kVisibleKeys, n);
      if (sums.abs_mass == 0) continue;  // no distribution over keys
      sink.set(r, kEntropy, sums.entropy);
      sink.set(r, kEffectiveTokens, std::exp(sums.entropy));
      sink.set(r, kParticipationRatio, sums.abs_mass * sums.abs_mass / sums.square);
      std::span<const float> magnitudes = row.weights;
      if (is_signed) {
        work.magnitudes.resize(row.weights.size());
        std::ranges::transform(row.weights, work.magnitudes.begin(),
                               [](float w) { return std::abs(w); });
        magnitudes = work.magnitudes;
      }
      sink.set(r, kMass90, static_cast<double>(mass_quantile(magnitudes, 0.9, work.select)));
      sink.set(r, kAttentionDistance, mean_distance(row));
      if (row.n() < 2) continue;
      sink.set(r, kEntropyNormalized, sums.entropy / std::log(n));
      sink.set(r, kEntropyWithoutSink, entropy_without_first(row));
    }
  }

 private:
  struct Workspace {
    TopWorkspace select;
    std::vector<float> magnitudes;  // of signed weights
  };
  std::vector<Workspace> work_;
};

}  // namespace

std::unique_ptr<Measure> make_weights_measure(int slots) {
  return std::make_unique<WeightsMeasure>(slots);
}

}  // namespace headgauge
