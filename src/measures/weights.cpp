#include "measures/weights.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "headgauge/metric_names.hpp"
#include "headgauge/results.hpp"
#include "heads/batch_means.hpp"
#include "kernels/top.hpp"
#include "kernels/weight_sums.hpp"

namespace headgauge {
namespace {

// Computes sum |a| |t - j| over the row's keys number [first, last).
double weighted_distance(const Row& row, Index first, Index last) {
  if (row.positions.empty()) {
    return sum_distances(row.weights.subspan(first, last - first),
                         row.keys.begin + first - row.query);
  }
  double sum = 0;
  for (Index j = first; j < last; ++j) {
    const Index distance = std::abs(row.query - row.key(j));
    sum += std::abs(static_cast<double>(row.weights[j])) * static_cast<double>(distance);
  }
  return sum;
}

struct Distances {
  double all = 0;
  double beyond_sinks = 0;
};

Distances weighted_distances(const Row& row) {
  double beyond = 0, at_sinks = 0;
  Index next = 0;
  for (const std::uint32_t sink : row.sinks) {
    beyond += weighted_distance(row, next, sink);
    at_sinks += weighted_distance(row, sink, sink + 1);
    next = sink + 1;
  }
  beyond += weighted_distance(row, next, row.n());
  return {beyond + at_sinks, beyond};
}

class WeightsMeasure final : public Measure {
 public:
  explicit WeightsMeasure(int slots) : work_(slots) {}

  void declare(MetricRegistry& metrics) override {
    mass_ = metrics.add(metric::mass);
    all_.declare(metrics, "_with_sinks");
    first_weight_ = metrics.add(metric::first_weight);
    logit_range_ = metrics.add(metric::logit_range);
    scaled_weight_min_ = metrics.add(metric::scaled_weight_min);
    scaled_weight_max_ = metrics.add(metric::scaled_weight_max);
    weight_bound_use_ = metrics.add(metric::weight_bound_use);
    visible_keys_ = metrics.add(metric::visible_keys);
    max_weight_ = metrics.add(metric::max_weight_with_sinks);
    sink_weight_ = metrics.add(metric::sink_weight);
    sink_keys_ = metrics.add(metric::sink_keys);
    beyond_.declare(metrics, "");
    max_beyond_ = metrics.add(metric::max_weight);
  }

  MeasureNeeds needs() const override { return {.weights = true, .sinks = true}; }

  void observe(const RowBlock& block, int slot, RowSink& sink) override {
    const NormalizerTraits traits = block.normalizer->traits();
    // Softmax of the logits as they are: 1/(2t) is its constant.
    const bool plain = block.normalizer->info().name == "softmax" && traits.lipschitz == 0.5;
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      const auto n = static_cast<double>(row.n());
      const WeightSums& sums = row.sums;
      sink.set(r, mass_, sums.mass);
      sink.set(r, max_weight_, sums.max);
      // The row may not see the first key of the text, because of a sliding window or a mask.
      sink.set(r, first_weight_, row.key(0) == 0 ? row.weights[0] : 0.0);
      sink.set(r, logit_range_, sums.max_logit - sums.min_logit);
      sink.set(r, scaled_weight_min_, n * sums.min);
      sink.set(r, scaled_weight_max_, n * sums.max);
      const double range = sums.max_logit - sums.min_logit;
      if (plain && range > 0) sink.set(r, weight_bound_use_, std::log(n * sums.max) / range);
      sink.set(r, visible_keys_, n);
      if (block.head->sinks_judged) {
        sink.set(r, sink_keys_, static_cast<double>(row.sinks.size()));
      }
      if (sums.abs_mass > 0) observe_spread(block, r, traits, work_[slot], sink);
    }
  }

  void begin_head(const HeadInput& head, ThreadPool&) override {
    judged_ = judged_ || head.sinks_judged;
    for (const Index position : head.sinks) ++of_document_[position];
  }

  void write_part(int, ThreadPool&, ByteWriter& part) override {
    std::vector<Index> positions, heads;
    for (const auto& [position, count] : of_document_) {
      positions.push_back(position);
      heads.push_back(count);
    }
    part.put_list(positions);
    part.put_list(heads);
    part.put(judged_);
    of_document_.clear();
    judged_ = false;
  }
  void read_part(int document, ByteReader& part) override {
    documents_ = std::max(documents_, document + 1);
    const auto positions = part.take_list<Index>(), heads = part.take_list<Index>();
    const auto is_count = [](Index n) { return n > 0 && n <= kMostRows; };
    if (positions.size() != heads.size() || !std::ranges::all_of(heads, is_count) ||
        (!positions.empty() && positions.front() < 0) || !std::ranges::is_sorted(positions)) {
      throw DamagedPartError("sinks at positions within the text, each with its number of heads",
                             "others");
    }
    for (std::size_t i = 0; i < positions.size(); ++i) of_layer_[positions[i]] += heads[i];
    parts_of_layer_ += part.take<bool>();
  }
  void end_layer(int layer, const LayerStatistics&, ThreadPool&) override {
    for (const auto& [position, heads] : of_layer_) {
      FoundSink& sink =
          found_.try_emplace(position, FoundSink{position, 0, layer, layer}).first->second;
      sink.heads += static_cast<double>(heads) / static_cast<double>(parts_of_layer_);
      sink.last_layer = layer;
    }
    of_layer_.clear();
    parts_of_layer_ = 0;
  }
  // Writes the keys that are sinks of the most heads to Results::text.
  void derive(std::span<const LayerStatistics* const>, Results& results) override {
    std::vector<FoundSink> sinks;
    for (const auto& [position, sink] : found_) {
      // Only position 0 has the same token in several texts.
      if (documents_ == 1 || position == 0) sinks.push_back(sink);
    }
    std::ranges::stable_sort(sinks, std::greater(), &FoundSink::heads);
    std::vector<FoundSink>& listed = results.text.sinks.emplace();
    for (const FoundSink& sink : std::span(sinks).first(std::min(sinks.size(), kListedSinks))) {
      if (sink.heads < kListedShare * sinks.front().heads) break;
      listed.push_back(sink);
    }
  }

 private:
  static constexpr std::size_t kListedSinks = 8;
  static constexpr double kListedShare = 0.05;  // least number of heads, relative to the first sink

  struct Workspace {
    TopWorkspace select;
    std::vector<float> kept;  // weights beyond the sinks
  };

  // The metrics of how widely weights spread, for all weights of a row or for those beyond its
  // sinks.
  struct Spread {
    MetricHandle entropy, entropy_normalized, effective_tokens, participation_ratio, mass_90,
        attention_distance;
    void declare(MetricRegistry& metrics, const std::string& suffix) {
      entropy = metrics.add(metric::entropy + suffix);
      entropy_normalized = metrics.add(metric::entropy_normalized + suffix);
      effective_tokens = metrics.add(metric::effective_tokens + suffix);
      participation_ratio = metrics.add(metric::participation_ratio + suffix);
      mass_90 = metrics.add(metric::mass_90 + suffix);
      attention_distance = metrics.add(metric::attention_distance + suffix);
    }
    // Sets the metrics for `keys` weights, of which `quantile` hold 90 %. `distance` is sum a |t -
    // j| (NaN if none), and the row counts as `rows`.
    void set(RowSink& sink, Index r, std::size_t keys, const WeightSums& sums, Index quantile,
             double distance, double rows) const {
      sink.set(r, entropy, 0, sums.entropy, rows);
      sink.set(r, effective_tokens, 0, std::exp(sums.entropy), rows);
      sink.set(r, participation_ratio, 0, sums.abs_mass * sums.abs_mass / sums.square, rows);
      sink.set(r, mass_90, 0, static_cast<double>(quantile), rows);
      sink.set(r, attention_distance, 0, distance / sums.abs_mass, rows);
      if (keys < 2) return;
      const double longest = std::log(static_cast<double>(keys));
      sink.set(r, entropy_normalized, 0, sums.entropy / longest, rows);
    }
  };

  void observe_spread(const RowBlock& block, Index r, const NormalizerTraits& traits,
                      Workspace& work, RowSink& sink) const {
    const Row& row = block.rows[r];
    std::span<const float> weights = row.weights;
    Distances distances{kUndefined, kUndefined};
    if (!block.head->cross) distances = weighted_distances(row);
    Index quantile = mass_quantile(weights, 0.9, work.select);
    all_.set(sink, r, weights.size(), row.sums, quantile, distances.all, 1);

    // A sink that is not a key has the rest of the total weight of 1.
    const double total = traits.has_sink ? 1.0 : row.sums.abs_mass;
    WeightSums sums = row.sums;
    if (!row.sinks.empty()) {
      weights = beyond(row, work);
      sums = weights.empty() ? WeightSums{} : sum_weights(weights, Extremes{});
      if (sums.abs_mass > 0) quantile = mass_quantile(weights, 0.9, work.select);
    }
    const double share = sums.abs_mass / total;
    if (block.head->sinks_judged || traits.has_sink) {
      sink.set(r, sink_weight_, row.sinks.empty() && !traits.has_sink ? 0.0 : 1 - share);
    }
    if (share == 0) return;
    beyond_.set(sink, r, weights.size(), sums, quantile, distances.beyond_sinks, share);
    const double largest = std::max(sums.max, -sums.min);
    sink.set(r, max_beyond_, 0, largest / sums.abs_mass, share);
  }

  // Returns the weights of a row without those of its sinks.
  static std::span<const float> beyond(const Row& row, Workspace& work) {
    work.kept.resize(row.weights.size());
    auto to = work.kept.begin();
    Index next = 0;
    for (const std::uint32_t j : row.sinks) {
      to = std::ranges::copy(row.weights.subspan(next, j - next), to).out;
      next = j + 1;
    }
    to = std::ranges::copy(row.weights.subspan(next), to).out;
    return {work.kept.begin(), to};
  }

  MetricHandle mass_, max_weight_, first_weight_, logit_range_, scaled_weight_min_,
      scaled_weight_max_, weight_bound_use_, visible_keys_, sink_weight_, sink_keys_, max_beyond_;
  Spread all_, beyond_;
  std::map<Index, Index> of_document_, of_layer_;  // number of heads with a sink at a position
  bool judged_ = false;       // the keys of some head in the document were judged
  Index parts_of_layer_ = 0;  // documents with judged keys
  int documents_ = 0;         // in the run
  std::map<Index, FoundSink> found_;
  std::vector<Workspace> work_;
};

}  // namespace

std::unique_ptr<Measure> make_weights_measure(int slots) {
  return std::make_unique<WeightsMeasure>(slots);
}

}  // namespace headgauge
