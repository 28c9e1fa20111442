#include "measures/examples.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "measures/key_ranges.hpp"
#include "measures/roles.hpp"

namespace headgauge {
namespace {

using CandidatesOfHead = std::vector<Candidates>;  // by criterion
using Values = std::array<double, kExampleCriteria.size()>;

struct RowValues {
  const Row* row;
  Values values;
};

// Rounds values so that they print short.
double few_digits(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

// A row's weights as shares of their absolute sum, and the same without the change. The keys are
// [first, first + size); keys that the row does not see have a share of 0.
class Shares {
 public:
  explicit Shares(const Row& row) : row_(row), mass_(row.sums.abs_mass) {
    for (const float w : row.original) original_mass_ += std::abs(static_cast<double>(w));
  }
  bool has_original() const { return original_mass_ > 0; }
  double original_mass() const { return original_mass_; }
  // Returns the share of the row's key number `i`.
  double share(Index i) const { return std::abs(static_cast<double>(row_.weights[i])) / mass_; }
  // Returns the largest share among the row's keys number [first, last) without sinks; 0 if there
  // are none.
  double largest_beyond_sinks(Index first, Index last) const {
    double most = 0;
    for (const std::uint32_t sink : row_.sinks) {
      if (sink < first || sink >= last) continue;
      most = std::max(most, largest(first, sink));
      first = sink + 1;
    }
    return std::max(most, largest(first, last));
  }
  // Returns the largest share among the row's keys number [first, last); 0 if there are none.
  double largest(Index first, Index last) const {
    // Four independent maxima, which run in parallel.
    float most[4] = {0, 0, 0, 0};
    const auto see = [&](float& so_far, Index i) {
      const float size = std::abs(row_.weights[i]);
      so_far = size > so_far ? size : so_far;
    };
    Index i = first;
    for (; i + 4 <= last; i += 4) {
      for (Index k = 0; k < 4; ++k) see(most[k], i + k);
    }
    for (; i < last; ++i) see(most[0], i);
    return static_cast<double>(std::max({most[0], most[1], most[2], most[3]})) / mass_;
  }
  // Returns the share at a position without the change.
  double original(Index position) const {
    const KeyRange keys = row_.original_keys;
    if (position < keys.begin || position >= keys.end) return 0;
    return row_.original[position - keys.begin];
  }
  double original_share(Index position) const {
    return std::abs(original(position)) / original_mass_;
  }
  // Returns half of the sum of |share - original share|: the weight that the change moves.
  double moved() const {
    // First the keys that the row sees, then those that the change hides from it.
    double sum = 0, seen = 0;
    for (Index i = 0; i < row_.n(); ++i) {
      const double before = original_share(row_.key(i));
      sum += std::abs(share(i) - before);
      seen += before;
    }
    return 0.5 * (sum + std::max(0.0, 1 - seen));
  }

 private:
  const Row& row_;
  double mass_;
  double original_mass_ = 0;
};

// A key that a row sees with or without the change, and its share in each case.
struct HeavyKey {
  Index position;
  double weight;
  double share;
  double original_share;
  double larger() const { return std::max(share, original_share); }
};

// Returns the heaviest weights, ties by lower index, until they sum to `mass`.
std::vector<Index> heaviest(std::span<const float> weights, double mass) {
  struct Heavy {
    float size;
    Index place;
  };
  const auto heavier = [](const Heavy& a, const Heavy& b) { return a.size > b.size; };
  std::vector<Heavy> kept;
  kept.reserve(kExampleKeys + 1);
  // Starts from the last keys: they are the heaviest of a head that looks back a little, and are
  // then kept.
  for (Index i = std::ssize(weights); i-- > 0;) {
    const Heavy one{std::abs(weights[i]), i};
    const bool full = std::ssize(kept) == kExampleKeys;
    if (full && kept.back().size > one.size) continue;
    kept.insert(std::ranges::lower_bound(kept, one, heavier), one);
    if (full) kept.pop_back();
  }
  std::vector<Index> places;
  double held = 0;
  for (const Heavy& one : kept) {
    if (!(held < kExampleShare) || one.size == 0) break;
    held += one.size / mass;
    places.push_back(one.place);
  }
  return places;
}

// Returns the keys that hold the weight of a row. If something is changed, it takes keys from the
// row with and without the change in turn, to show both what is added and what is lost.
std::vector<HeavyKey> heaviest_keys(const Row& row, const Shares& shares) {
  std::vector<Index> with = heaviest(row.weights, row.sums.abs_mass), without;
  for (Index& place : with) place = row.key(place);
  if (shares.has_original()) {
    without = heaviest(row.original, shares.original_mass());
    for (Index& place : without) place += row.original_keys.begin;
  }
  std::vector<HeavyKey> chosen;
  const auto choose = [&](const std::vector<Index>& from, Index k) {
    if (k >= std::ssize(from) || std::ssize(chosen) == kExampleKeys) return;
    const Index position = from[k];
    if (std::ranges::find(chosen, position, &HeavyKey::position) != chosen.end()) return;
    const auto i = find_key(row, position);
    const double original = shares.has_original() ? shares.original_share(position) : 0;
    chosen.push_back({position, i ? row.weights[*i] : 0, i ? shares.share(*i) : 0, original});
  };
  for (Index k = 0; k < kExampleKeys; ++k) {
    choose(with, k);
    choose(without, k);
  }
  std::ranges::sort(chosen, [](const HeavyKey& a, const HeavyKey& b) {
    return std::pair(-a.larger(), a.position) < std::pair(-b.larger(), b.position);
  });
  return chosen;
}

class ExamplesMeasure final : public Measure {
 public:
  ExamplesMeasure(int count, Index longest, int slots)
      : count_(count),
        longest_(longest),
        first_(std::min(kFirstExample, longest / 2)),
        found_(slots) {}

  void declare(MetricRegistry&) override {}
  MeasureNeeds needs() const override { return {.weights = true, .sinks = true, .changes = true}; }

  std::size_t bytes(const SourceInfo& source, Index) const override {
    const std::size_t row = sizeof(Example) + 3 * kExampleKeys * sizeof(double);
    const std::size_t of_layer = (found_.size() + 1) * kExampleCriteria.size();
    return row * static_cast<std::size_t>(count_) * static_cast<std::size_t>(source.heads) *
           (of_layer + static_cast<std::size_t>(source.layers));
  }

  void observe(const RowBlock& block, int slot, RowSink&) override {
    auto& of_head = found_[slot].try_emplace(block.head->head, empty()).first->second;
    std::vector<RowValues> rows;
    for (const Row& row : block.rows) {
      if (row.query < first_ || row.left_out != Row::LeftOut::no || !(row.sums.abs_mass > 0))
        continue;
      rows.push_back({&row, values_of(row)});
    }
    for (std::size_t c = 0; c < of_head.size(); ++c) {
      // Takes the best first, so that most of the others need not be described.
      std::ranges::sort(rows, [c](const RowValues& a, const RowValues& b) {
        return a.values[c] != b.values[c] ? a.values[c] > b.values[c] : a.row->query < b.row->query;
      });
      for (const RowValues& row : rows) {
        if (row.values[c] > 0) add(*block.head, *row.row, row.values[c], of_head[c]);
      }
    }
  }

  void write_part(int, ThreadPool&, ByteWriter& part) override {
    for (const auto& [head, candidates] : of_all_slots()) {
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        for (const Example& row : candidates[c].rows()) {
          part.put(true);
          write(head, c, row, part);
        }
      }
    }
    part.put(false);
    for (auto& of_slot : found_) of_slot.clear();
  }
  void read_part(int document, ByteReader& part) override {
    while (part.take<bool>()) {
      const auto head = part.take<int>();
      const auto criterion = part.take<std::size_t>();
      Example row = read(document, part);
      const auto is_position = [&](Index at) { return at >= 0 && at < longest_; };
      if (head < 0 || criterion >= kExampleCriteria.size() || !is_position(row.query) ||
          !std::ranges::all_of(row.keys, is_position) || row.weights.size() != row.keys.size() ||
          *row.others < 0 || (!row.originals.empty() && row.originals.size() != row.keys.size())) {
        throw DamagedPartError("examples within the text", "positions beyond its end");
      }
      of_layer_.try_emplace(head, empty()).first->second[criterion].add(std::move(row));
    }
  }

  void end_layer(int layer, const LayerStatistics&, ThreadPool&) override {
    for (const auto& [head, candidates] : of_layer_) deal(layer, head, candidates);
    of_layer_.clear();
  }

  void derive(std::span<const LayerStatistics* const>, Results& results) override {
    results.examples = examples_;
  }

 private:
  CandidatesOfHead empty() const {
    return CandidatesOfHead(kExampleCriteria.size(), Candidates(count_));
  }

  // Merges the candidates of all threads, by head.
  std::map<int, CandidatesOfHead> of_all_slots() const {
    std::map<int, CandidatesOfHead> all;
    for (const auto& of_slot : found_) {
      for (const auto& [head, candidates] : of_slot) {
        auto& of_head = all.try_emplace(head, empty()).first->second;
        for (std::size_t c = 0; c < candidates.size(); ++c) of_head[c].add(candidates[c]);
      }
    }
    return all;
  }

  static void write(int head, std::size_t criterion, const Example& row, ByteWriter& part) {
    part.put(head);
    part.put(criterion);
    part.put(row.value);
    part.put(row.query);
    part.put(row.covered);
    part.put(row.others.value_or(0));
    part.put_list(row.keys);
    part.put_list(row.weights);
    part.put_list(row.originals);
  }
  static Example read(int document, ByteReader& part) {
    Example row;
    row.document = document;
    row.value = part.take<double>();
    row.query = part.take<Index>();
    row.covered = part.take<double>();
    row.others = part.take<int>();
    row.keys = part.take_list<Index>();
    row.weights = part.take_list<double>();
    row.originals = part.take_list<double>();
    return row;
  }

  static Values values_of(const Row& row) {
    const Shares shares(row);
    Values values{};
    const auto of = [&](ExampleCriterion criterion) -> double& {
      return values[static_cast<std::size_t>(criterion)];
    };
    // Uses the order of keys: far ones, near ones, and far ones again if the head looks ahead.
    const Index near_begin = first_key_from(row, row.query - kNearKeys + 1);
    const Index near_end = std::max(near_begin, first_key_from(row, row.query + kNearKeys));
    of(ExampleCriterion::near) = shares.largest_beyond_sinks(near_begin, near_end);
    of(ExampleCriterion::far) = std::max(shares.largest_beyond_sinks(0, near_begin),
                                         shares.largest_beyond_sinks(near_end, row.n()));
    if (row.n() > 1) {
      of(ExampleCriterion::spread) = row.sums.entropy / std::log(static_cast<double>(row.n()));
    }
    if (shares.has_original()) of(ExampleCriterion::change) = shares.moved();
    return values;
  }

  static void add(const HeadInput& head, const Row& row, double value, Candidates& candidates) {
    Example example;
    example.value = value;
    example.document = head.document;
    example.query = row.query;
    if (!candidates.wants(example)) return;
    describe(row, Shares(row), example);
    candidates.add(std::move(example));
  }

  static void describe(const Row& row, const Shares& shares, Example& example) {
    double covered = 0;
    auto others = static_cast<int>(row.n());
    for (const HeavyKey& key : heaviest_keys(row, shares)) {
      if (find_key(row, key.position)) --others;
      example.keys.push_back(key.position);
      example.weights.push_back(key.weight);
      if (shares.has_original()) example.originals.push_back(shares.original(key.position));
      covered += std::abs(key.weight);
    }
    example.others = others;
    example.covered = std::min(1.0, covered / row.sums.abs_mass);
  }

  // Each criterion in turn takes its best query that no other took, until there are enough. No list
  // is too short for this: all other criteria together take fewer queries than a list has.
  void deal(int layer, int head, const CandidatesOfHead& candidates) {
    std::set<std::pair<int, Index>> taken;
    const auto take = [&](std::size_t c) {
      const std::vector<Example>& rows = candidates[c].rows();
      const auto free = std::ranges::find_if(rows, [&](const Example& row) {
        return !taken.contains({row.document, row.query});
      });
      if (free == rows.end()) return false;
      taken.insert({free->document, free->query});
      Example& example = examples_.emplace_back(*free);
      example.layer = layer;
      example.head = head;
      example.why = kExampleCriteria[c];
      // Rounds only here, because most described rows were replaced by better ones.
      for (double* number : {&example.value, &example.covered}) *number = few_digits(*number);
      for (auto* list : {&example.weights, &example.originals}) {
        std::ranges::transform(*list, list->begin(), few_digits);
      }
      return true;
    };
    for (bool any = true; any;) {
      any = false;
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        if (std::ssize(taken) == count_) return;
        any = take(c) || any;
      }
    }
  }

  int count_;
  Index longest_;
  Index first_;
  std::vector<std::map<int, CandidatesOfHead>> found_;  // by slot, for the heads of the document
  std::map<int, CandidatesOfHead> of_layer_;            // by head, for all documents
  std::vector<Example> examples_;
};

}  // namespace

bool comes_before(const Example& a, const Example& b) {
  return std::tuple(-a.value, a.document, a.query) < std::tuple(-b.value, b.document, b.query);
}

std::vector<Example>::const_iterator Candidates::of_same_stretch(const Example& row) const {
  return std::ranges::find_if(rows_, [&](const Example& other) {
    return other.document == row.document && other.query / kStretch == row.query / kStretch;
  });
}

bool Candidates::wants(const Example& row) const {
  const bool full = std::ssize(rows_) == most_;
  if (full && !comes_before(row, rows_.back())) return false;
  const auto same = of_same_stretch(row);
  return same == rows_.end() || comes_before(row, *same);
}

void Candidates::add(Example row) {
  if (!wants(row)) return;
  if (const auto same = of_same_stretch(row); same != rows_.end()) rows_.erase(same);
  rows_.insert(std::ranges::lower_bound(rows_, row, comes_before), std::move(row));
  if (std::ssize(rows_) > most_) rows_.pop_back();
}

std::unique_ptr<Measure> make_examples_measure(int count, Index longest, int slots) {
  return std::make_unique<ExamplesMeasure>(count, longest, slots);
}

}  // namespace headgauge
