#include "measures/roles.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/octaves.hpp"
#include "measures/key_ranges.hpp"

namespace headgauge {
namespace {

// A number of keys of a row, and the absolute weight on them.
struct Held {
  double mass = 0;
  Index keys = 0;
  Held& operator+=(const Held& other) {
    mass += other.mass;
    keys += other.keys;
    return *this;
  }
  Held& operator-=(const Held& other) {
    mass -= other.mass;
    keys -= other.keys;
    return *this;
  }
};

Held keys_between(const Row& row, Index first, Index last) {
  if (first >= last) return {};
  // Four independent sums, which run in parallel.
  double mass[4] = {0, 0, 0, 0};
  Index j = first;
  for (; j + 4 <= last; j += 4) {
    for (Index k = 0; k < 4; ++k) mass[k] += std::abs(row.weights[j + k]);
  }
  for (; j < last; ++j) mass[0] += std::abs(row.weights[j]);
  return {(mass[0] + mass[1]) + (mass[2] + mass[3]), last - first};
}

Held key_number(const Row& row, Index j) {
  return {std::abs(static_cast<double>(row.weights[j])), 1};
}

// The weight of a row on one kind of keys, and the part of it on sinks.
struct OfKind {
  Held all, sinks;
  void add(const Row& row, Index position) {
    const std::optional<Index> j = find_key(row, position);
    if (!j) return;
    all += key_number(row, *j);
    if (std::ranges::binary_search(row.sinks, *j)) sinks += key_number(row, *j);
  }
};

constexpr std::size_t kInduction = kRoles.size() - 1;

// Consecutive rows of a document.
struct RowsOf {
  Index begin = 0, end = 0;
  bool has(Index row) const { return begin <= row && row < end; }
};

class RolesMeasure final : public Measure {
 public:
  explicit RolesMeasure(const SourceInfo& source) {
    for (Index d = 0; d < std::ssize(source.documents); ++d) {
      const Index last = source.documents[d] - 1;
      longest_ = std::max(longest_, source.documents[d]);
      judged_.push_back(source.is_text(d) ? RowsOf{0, last + 1}
                                          : RowsOf{last - source.predicted(d), last});
    }
  }

  void declare(MetricRegistry& metrics) override {
    std::vector<std::string> labels;
    for (const Role& role : kRoles) labels.emplace_back(role.name);
    metrics.coord("role", std::move(labels));
    for (std::size_t k = 0; k < kRoles.size(); ++k) {
      shares_[k] = metrics.add(kRoles[k].with_sinks);
      beyond_[k] = metrics.add(kRoles[k].metric);
    }
    chance_ = metrics.add(metric::role_chance);
    std::vector<std::string> octaves;
    const Index furthest = std::max<Index>(longest_ - 1, 1);
    for (Index octave = 0; octave <= octave_of(furthest); ++octave) {
      octaves.push_back(octave_label(octave));
    }
    metrics.coord("copy_gap", std::move(octaves));
    by_gap_ = metrics.add(metric::induction_by_gap);
  }

  MeasureNeeds needs() const override { return {.weights = true, .sinks = true}; }

  std::size_t bytes(const SourceInfo&, Index longest) const override {
    return static_cast<std::size_t>(longest) * (sizeof(Index) + 64);  // the table of tokens too
  }

  void begin_head(const HeadInput& head, ThreadPool&) override {
    rows_ = judged_[head.document];
    earlier_.assign(head.tokens.size(), -1);
    std::unordered_map<int, Index> last;
    for (Index t = 0; t < std::ssize(head.tokens); ++t) {
      const auto [place, is_new] = last.try_emplace(head.tokens[t], t);
      if (!is_new) earlier_[t] = std::exchange(place->second, t);
    }
  }

  void observe(const RowBlock& block, int, RowSink& sink) override {
    const bool has_sink = block.normalizer->traits().has_sink;
    for (Index r = 0; r < block.size(); ++r) {
      if (rows_.has(block.rows[r].query)) observe_row(block.rows[r], r, has_sink, sink);
    }
  }

 private:
  void observe_row(const Row& row, Index r, bool has_sink, RowSink& sink) const {
    const Index near_begin = first_key_from(row, row.query - kNearKeys + 1);
    const Index near_end = first_key_from(row, row.query + kNearKeys);
    Held sinks, near_sinks;
    for (const std::uint32_t j : row.sinks) {
      sinks += key_number(row, j);
      if (j >= near_begin && j < near_end) near_sinks += key_number(row, j);
    }
    OfKind previous, copies, induction;
    OfKind near{keys_between(row, near_begin, near_end), near_sinks};
    OfKind far{keys_between(row, 0, near_begin), sinks};
    far.all += keys_between(row, near_end, row.n());
    far.sinks -= near_sinks;
    Held whole = near.all;
    whole += far.all;
    if (whole.mass == 0) return;  // not a distribution over keys
    // A sink does not count as a far key.
    far.all -= far.sinks;
    far.sinks = {};
    previous.add(row, row.query - 1);
    if (!earlier_.empty()) {
      for (Index copy = earlier_[row.query]; copy >= 0; copy = earlier_[copy]) {
        if (copy + 1 < row.keys.begin) break;
        copies.add(row, copy);
        induction.add(row, copy + 1);
      }
    }
    Held rest = whole;
    rest -= sinks;
    // These are in the order of kRoles.
    const std::array<OfKind, kRoles.size()> kinds = {previous, near, far, copies, induction};
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      Held held = kinds[k].all;
      // If no key or every key is of the kind, the row carries no information.
      if (held.keys == 0 || held.keys == whole.keys) continue;
      sink.set(r, shares_[k], held.mass / whole.mass);
      held -= kinds[k].sinks;
      // A row counts in the share beyond the sinks in proportion to its weight there.
      const double counts_as = rest.mass / (has_sink ? 1.0 : whole.mass);
      if (held.keys == 0 || held.keys == rest.keys || !(counts_as > 0)) continue;
      const double beyond = std::max(0.0, held.mass) / rest.mass;
      sink.set(r, beyond_[k], 0, beyond, counts_as);
      if (k == kInduction) {
        sink.set(r, by_gap_, octave_of(row.query - earlier_[row.query]), beyond, counts_as);
      }
      sink.set(r, chance_, static_cast<Index>(k),
               static_cast<double>(held.keys) / static_cast<double>(rest.keys), counts_as);
    }
  }

  std::array<MetricHandle, kRoles.size()> shares_, beyond_;
  MetricHandle chance_, by_gap_;
  Index longest_ = 0;  // tokens of a document
  // The rows of each document that count: all of a text, those of a case that predict its answer.
  std::vector<RowsOf> judged_;
  RowsOf rows_;                 // of the head's document
  std::vector<Index> earlier_;  // last earlier position of the same token; -1 if none
};

}  // namespace

std::unique_ptr<Measure> make_roles_measure(const SourceInfo& source) {
  return std::make_unique<RolesMeasure>(source);
}

}  // namespace headgauge
