#include "measures/output_change.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/random.hpp"
#include "headgauge/metric_names.hpp"
#include "heads/batch_means.hpp"
#include "heads/masked_row.hpp"
#include "heads/scores.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {
namespace {

// A row of weights without an intervention.
struct OriginalRow {
  KeyRange keys;
  std::span<const float> weights;  // on these keys; empty if the row sees no key
  double mass = 0;                 // sum |a|
};

double length_of(std::span<const float> row) {
  double square = 0;
  for (const float x : row) square += static_cast<double>(x) * x;
  return std::sqrt(square);
}

double distance(std::span<const float> a, std::span<const float> b) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    square += difference * difference;
  }
  return std::sqrt(square);
}

// Returns the share of a row's weight on the `count` keys key(0), key(1), ...
template <class Key>
double kept_mass(const OriginalRow& row, Index count, const Key& key) {
  double mass = 0;
  for (Index i = 0; i < count; ++i) mass += std::abs(row.weights[key(i) - row.keys.begin]);
  return mass / row.mass;  // NaN for a row without weight
}

// Computes log n - H for a row in which n weights can be nonzero.
double entropy_deficit(std::span<const float> weights, Index n) {
  double mass = 0, logs = 0;
  for (const float weight : weights) {
    const double a = std::abs(static_cast<double>(weight));
    mass += a;
    if (a > 0) logs += a * std::log(a);
  }
  if (mass == 0) return kUndefined;
  return std::log(static_cast<double>(n)) - (std::log(mass) - logs / mass);
}

// The values of the present head, and its keys scaled to length 1, packed once for all heads that
// share them.
class PackedHead {
 public:
  void assign(const HeadInput& head, bool wants_unit_keys) {
    const std::array<int, 4> of{head.layer, head.document, head.kv_head, wants_unit_keys ? 1 : 0};
    // Heads that share values are consecutive; a head that appears again may have new values.
    const bool shared = of == of_ && head.head > last_head_;
    of_ = of;
    last_head_ = head.head;
    if (shared) return;
    values_.assign_rows(head.values);
    if (wants_unit_keys) pack_keys(head.keys, head.scale, true, unit_keys_);
  }
  const PackedMatrix& values() const { return values_; }
  const PackedMatrix& unit_keys() const { return unit_keys_; }

 private:
  std::array<int, 4> of_{-1, -1, -1, -1};  // layer, document, kv_head, 1 if unit keys are packed
  int last_head_ = -1;
  PackedMatrix values_, unit_keys_;
};

class OutputChange final : public Measure {
 public:
  OutputChange(MeasureOptions::Changed changed, int slots)
      : by_pattern_(changed == MeasureOptions::Changed::pattern), work_(slots) {}
  OutputChange(TriedInterventions tried, int slots, std::uint64_t seed)
      : tried_(std::move(tried)),
        by_pattern_(tried_->dimension == "pattern"),
        seed_(seed),
        work_(slots) {}

  void declare(MetricRegistry& metrics) override {
    if (tried_) metrics.coord(tried_->dimension, tried_->labels);
    const auto add = [&](const char* name) {
      MetricInfo metric = metric_info(name);
      if (tried_) metric.dims = {tried_->dimension};
      return metrics.add(metric);
    };
    if (by_pattern_) kept_mass_ = add(metric::kept_mass);
    if (by_pattern_) queries_losing_keys_ = add(metric::queries_losing_keys);
    output_change_ = add(metric::output_change);
    if (!tried_ || !by_pattern_) return;
    entropy_deficit_ = add(metric::entropy_deficit);
    entropy_deficit_random_ = add(metric::entropy_deficit_random);
  }

  MeasureNeeds needs() const override { return {.weights = true, .original = !tried_}; }

  std::size_t bytes(const SourceInfo& source, Index longest) const override {
    const Index tile = kBlockRows * (longest + 2 * source.head_dim);
    const Index packed = 3 * longest * source.head_dim;
    return sizeof(float) * (packed + work_.size() * tile);
  }

  void begin_head(const HeadInput& head, ThreadPool&) override {
    if (tried_) apply_interventions(head);
    const bool unit = std::ranges::any_of(
        changed_heads_, [](const auto& changed) { return changed && takes_unit_norms(*changed); });
    if (!head.values.empty()) packed_.assign(head, unit);
  }

  void observe(const RowBlock& block, int slot, RowSink& sink) override {
    const KeyRange keys = keys_of(block);
    if (keys.size() <= 0) return;
    if (!tried_ && by_pattern_) measure_kept_mass(block, sink);
    if (block.head->values.empty()) return;
    Work& work = work_[slot];
    prepare(block.size(), keys, block.head->values.cols(), work);
    measure_original(block, keys, work, sink);
    if (!tried_) {
      subtract_original(block, keys, work);
      gemm(work.weights, packed_.values(), work.changed, {.b_row = keys.begin});
      for (Index r = 0; r < block.size(); ++r) {
        if (work.lengths[r] == 0) continue;
        sink.set(r, output_change_, length_of(work.changed.row(r)) / work.lengths[r]);
      }
      return;
    }
    for (Index k = 0; k < std::ssize(changed_heads_); ++k) {
      if (!changed_heads_[k]) continue;
      weigh(block, k, work, sink);
      gemm(work.weights, packed_.values(), work.changed);
      for (Index r = 0; r < block.size(); ++r) {
        if (work.lengths[r] == 0) continue;
        const double moved = distance(work.changed.row(r), work.output.row(r));
        sink.set(r, output_change_, k + 1, moved / work.lengths[r]);
      }
    }
  }

 private:
  struct Work {
    AlignedVector<float> weight_memory;
    MatrixView<float> weights;  // rows x keys of the block
    Matrix<float> output_memory, changed_memory;
    MatrixView<float> output, changed;         // rows x d
    std::array<double, kBlockRows> lengths{};  // of the original outputs
    RangeWorkspace range;
    std::vector<RangeRow> range_rows;
    std::vector<float> drawn;
  };

  const HeadIntervention& of_head(Index k, const HeadInput& head) const {
    return (*tried_->interventions[k])(head.layer, head.head);
  }

  void apply_interventions(const HeadInput& head) {
    changed_heads_.assign(tried_->interventions.size(), std::nullopt);
    for (std::size_t k = 0; k < changed_heads_.size(); ++k) {
      const HeadIntervention& intervention = of_head(static_cast<Index>(k), head);
      if (!intervention.changes()) continue;
      require_all_keys(head, "an intervention");
      intervention.apply(changed_heads_[k].emplace(head));
    }
  }

  // Returns the row without an intervention: the block's own row, or the one before the scan's
  // change.
  OriginalRow original_of(const Row& row) const {
    if (tried_) return {row.keys, row.weights, row.sums.abs_mass};
    double mass = 0;
    for (const float w : row.original) mass += std::abs(static_cast<double>(w));
    return {row.original_keys, row.original, mass};
  }

  // Returns the columns of the matrix of weights: all keys that the original rows see; in a
  // comparison, from key 0 on. gemm() sums 256 keys at a time, so the first column affects
  // rounding.
  KeyRange keys_of(const RowBlock& block) const {
    KeyRange all;
    for (const Row& row : block.rows) {
      const KeyRange keys = tried_ ? row.keys : row.original_keys;
      if (keys.size() == 0) continue;
      all.begin = all.size() == 0 ? keys.begin : std::min(all.begin, keys.begin);
      all.end = std::max(all.end, keys.end);
    }
    return tried_ ? KeyRange{0, all.end} : all;
  }

  static void prepare(Index rows, KeyRange keys, Index d, Work& work) {
    if (std::ssize(work.weight_memory) < rows * keys.size()) {
      work.weight_memory.resize(rows * keys.size());
    }
    work.weights = {work.weight_memory.data(), rows, keys.size()};
    if (work.output_memory.cols() != d) {
      work.output_memory = work.changed_memory = Matrix<float>(kBlockRows, d);
    }
    work.output = work.output_memory.view().block(0, rows, 0, d);
    work.changed = work.changed_memory.view().block(0, rows, 0, d);
  }

  // Returns the entries of `keys` in a row of the matrix of weights, which begins at key `first`;
  // sets the others to 0.
  static std::span<float> entries_of(std::span<float> row, Index first, KeyRange keys) {
    std::ranges::fill(row.first(keys.begin - first), 0.0f);
    std::ranges::fill(row.subspan(keys.end - first), 0.0f);
    return row.subspan(keys.begin - first, keys.size());
  }

  void measure_kept_mass(const RowBlock& block, RowSink& sink) const {
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      const OriginalRow original = original_of(row);
      if (original.weights.empty()) continue;
      sink.set(r, kept_mass_, kept_mass(original, row.n(), [&](Index i) { return row.key(i); }));
      sink.set(r, queries_losing_keys_, row.n() < original.keys.size() ? 1.0 : 0.0);
    }
  }

  // Computes the outputs of the original rows, their lengths, and the values that a comparison
  // needs.
  void measure_original(const RowBlock& block, KeyRange keys, Work& work, RowSink& sink) const {
    for (Index r = 0; r < block.size(); ++r) {
      const OriginalRow original = original_of(block.rows[r]);
      const auto to = original.weights.empty()
                          ? entries_of(work.weights.row(r), keys.begin, {keys.begin, keys.begin})
                          : entries_of(work.weights.row(r), keys.begin, original.keys);
      std::ranges::copy(original.weights, to.begin());
    }
    gemm(work.weights, packed_.values(), work.output, {.b_row = keys.begin});
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      work.lengths[r] = length_of(work.output.row(r));
      if (!tried_) continue;
      if (work.lengths[r] > 0) sink.set(r, output_change_, 0, 0.0);
      const double deficit = std::log(static_cast<double>(row.n())) - row.sums.entropy;
      sink.set(r, kept_mass_, 0, 1.0);
      sink.set(r, queries_losing_keys_, 0, 0.0);
      sink.set(r, entropy_deficit_, 0, deficit);
      sink.set(r, entropy_deficit_random_, 0, deficit);
    }
  }

  // Replaces the weights of the original rows by the change that the scan makes, a' - a.
  static void subtract_original(const RowBlock& block, KeyRange keys, Work& work) {
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      if (row.original.empty()) continue;
      const std::span<float> change = work.weights.row(r);
      for (float& w : change) w = -w;
      for (Index i = 0; i < row.n(); ++i) change[row.key(i) - keys.begin] += row.weights[i];
    }
  }

  // Computes the weights of the block's rows under intervention `k`, and the mass that it keeps.
  void weigh(const RowBlock& block, Index k, Work& work, RowSink& sink) const {
    const HeadInput& head = *changed_heads_[k];
    const bool unit = takes_unit_norms(head);
    const bool drops_keys = of_head(k, head).pattern != nullptr;
    work.range_rows.clear();
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      const auto out = entries_of(work.weights.row(r), 0, row.keys);
      if (unit) {
        const auto query = head.queries.block(row.query, 1, 0, head.queries.cols());
        gemm(query, packed_.unit_keys(), work.weights.block(r, 1, 0, work.weights.cols()),
             {.col_begin = row.keys.begin, .col_end = row.keys.end});
        divide_by_length(query.row(0), out);
        finish_logits(head, row.query, row.keys.begin, out);
      } else {
        std::ranges::copy(row.logits, out.begin());
      }
      if (!drops_keys) {
        work.range_rows.push_back({row.query, row.keys, out});
        continue;
      }
      weigh_range(head, row.query, row.keys, out, work.range);
      const std::vector<std::uint32_t>& kept = work.range.positions;
      sink.set(r, kept_mass_, k + 1,
               kept_mass(original_of(row), std::ssize(kept), [&](Index i) { return kept[i]; }));
      sink.set(r, queries_losing_keys_, k + 1, std::ssize(kept) < row.keys.size() ? 1.0 : 0.0);
      sink.set(r, entropy_deficit_, k + 1, entropy_deficit(out, std::ssize(kept)));
      sink.set(r, entropy_deficit_random_, k + 1,
               random_deficit(*block.head, row, std::ssize(kept), work.drawn));
    }
    weigh_ranges(head, work.range_rows, work.range);
  }

  // Computes the same for `count` keys of the row drawn at random without replacement. Every
  // intervention uses the same order of keys.
  double random_deficit(const HeadInput& head, const Row& row, Index count,
                        std::vector<float>& drawn) const {
    drawn.assign(row.weights.begin(), row.weights.end());
    const RandomStream random(seed_, RandomDomain::random_keys, head_word(head.layer, head.head),
                              row_word(row.query, head.document));
    std::array<std::uint32_t, 4> words{};
    for (Index i = 0; i < count; ++i) {
      if (i % 4 == 0) words = random.block(static_cast<std::uint32_t>(i / 4));
      std::swap(drawn[i], drawn[i + words[i % 4] % (drawn.size() - i)]);
    }
    return entropy_deficit(std::span(drawn).first(count), count);
  }

  // Absent if the scan has changed the heads; Row::original then has the unchanged weights.
  std::optional<TriedInterventions> tried_;
  bool by_pattern_;
  std::uint64_t seed_ = 0;
  MetricHandle kept_mass_, queries_losing_keys_, output_change_, entropy_deficit_,
      entropy_deficit_random_;
  std::vector<std::optional<HeadInput>> changed_heads_;  // the present head under each intervention
  PackedHead packed_;
  std::vector<Work> work_;
};

}  // namespace

std::unique_ptr<Measure> make_output_change(TriedInterventions tried, int slots,
                                            std::uint64_t seed) {
  return std::make_unique<OutputChange>(std::move(tried), slots, seed);
}

std::unique_ptr<Measure> make_scan_change(MeasureOptions::Changed changed, int slots) {
  return std::make_unique<OutputChange>(changed, slots);
}

}  // namespace headgauge
