#include "measures/coverage.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "measures/coordinates.hpp"
#include "measures/layer_rows.hpp"

namespace headgauge {
namespace {

constexpr Index kChunk = 64;  // groups of rows that one task handles
constexpr std::size_t kBits = 64;
constexpr float kTie = 1e-4f;  // weights nearer than this share of them are tied (math 7a)

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

std::size_t words_for(int size) {
  return (at(size) + kBits - 1) / kBits;
}

// Keys of a text, each with what was noted about it for the row at hand.
class KeyNotes {
 public:
  explicit KeyNotes(Index keys) : seen_(at(keys), 0), miss_(at(keys)), told_(at(keys)) {}
  void clear() {
    ++round_;
    found_.clear();
  }
  // True the first time since clear().
  bool add(std::uint32_t key) {
    if (seen_[key] == round_) return false;
    seen_[key] = round_;
    miss_[key] = 1.0;
    told_[key] = 0;
    found_.push_back(key);
    return true;
  }
  bool has(std::uint32_t key) const { return seen_[key] == round_; }
  double& miss(std::uint32_t key) { return miss_[key]; }
  std::uint8_t& told(std::uint32_t key) { return told_[key]; }
  const std::vector<std::uint32_t>& found() const { return found_; }

 private:
  std::uint32_t round_ = 0;
  std::vector<std::uint32_t> seen_;
  std::vector<double> miss_;
  std::vector<std::uint8_t> told_;
  std::vector<std::uint32_t> found_;
};

}  // namespace

// How many of the leading keys of a row lie above the first one left out, not tied with it.
int count_clear(const Row& row, int size) {
  if (row.n() <= size) return 0;
  const auto weight = [&](int rank) { return std::abs(row.weights[row.top[at(rank)]]); };
  const float limit = (1 + kTie) * weight(size);
  int clear = 0;
  while (clear < size && weight(clear) > limit) ++clear;
  return clear;
}

// What one row of the layer gives, and where a task works it out.
struct Coverage::RowValues {
  std::span<double> coverage;     // by size
  std::span<double> independent;  // length x size
  std::span<double> overlap;      // by pair of heads, added to; empty: not wanted
  KeyNotes* notes = nullptr;
};

Coverage::Coverage(const MeasureOptions& options, std::vector<int> sizes, int slots)
    : options_(options), sizes_(std::move(sizes)), shelves_(at(std::max(slots, 1))) {
  for (const int size : sizes_) {
    places_.push_back(
        static_cast<int>(std::ranges::find(options_.top_n, size) - options_.top_n.begin()));
    first_word_.push_back(words_);
    words_ += words_for(size);
  }
}

std::size_t Coverage::row_bytes(std::span<const int> sizes) {
  std::size_t words = 0;
  for (const int size : sizes) words += words_for(size);
  const int largest = sizes.empty() ? 0 : sizes.back();
  return sizeof(Kept) + at(std::max(largest, kOverlapSize)) * sizeof(std::uint32_t) +
         words * sizeof(std::uint64_t);
}

void Coverage::begin_head(const HeadInput& head, Index length) {
  document_ = head.document;
  head_ = head.head;
  document_lengths_[head.document] = length;
}

void Coverage::begin_row(int slot, const Row& row) {
  Shelf& shelf = shelves_[at(slot)];
  Kept kept;
  kept.document = document_;
  kept.query = row.query;
  kept.head = head_;
  kept.slot = slot;
  kept.n = row.n();
  kept.members = shelf.members.size();
  kept.flags = shelf.flags.size();
  kept.clear = count_clear(row, kOverlapSize);
  std::size_t wanted = at(kOverlapSize);
  for (const int size : sizes_) {
    if (size < row.n()) wanted = std::max(wanted, at(size));
  }
  for (const std::uint32_t offset : row.top.first(std::min(wanted, row.top.size()))) {
    shelf.members.push_back(static_cast<std::uint32_t>(row.key(offset)));
  }
  shelf.flags.resize(shelf.flags.size() + words_, 0);
  shelf.rows.push_back(kept);
}

void Coverage::add_set(int slot, int size, std::span<const std::uint64_t> members) {
  Shelf& shelf = shelves_[at(slot)];
  const std::size_t first = shelf.rows.back().flags + first_word_[at(size)];
  std::ranges::copy(members, shelf.flags.begin() + static_cast<std::ptrdiff_t>(first));
}

std::span<const std::uint32_t> Coverage::members_of(const Kept& kept, int size) const {
  return std::span(shelves_[at(kept.slot)].members).subspan(kept.members, at(size));
}

bool Coverage::is_distinguishable(const Kept& kept, int size, int rank) const {
  const std::uint64_t* words =
      shelves_[at(kept.slot)].flags.data() + kept.flags + first_word_[at(size)];
  return (words[at(rank) / kBits] >> (at(rank) % kBits) & 1) != 0;
}

// A mask may leave the heads of a row different numbers of keys: a row has sets of a size where
// every head has.
Index Coverage::fewest_keys(Group group) {
  return std::ranges::min_element(group, {}, &Kept::n)->n;
}

void Coverage::observe_group(Group group, std::span<const double> ratios,
                             std::span<const int> heads, RowValues& out) const {
  KeyNotes& notes = *out.notes;
  const Kept& row = group.front();
  const Index fewest = fewest_keys(group);
  for (std::size_t s = 0; s < sizes_.size(); ++s) {
    if (fewest <= sizes_[s]) break;
    for (Index l = 0; l < count_lengths(); ++l) {
      if (options_.lengths[at(l)] <= row.query) continue;
      notes.clear();
      double told = 0;
      for (const Kept& head : group) {
        const auto number = std::ranges::lower_bound(heads, head.head) - heads.begin();
        const double p = ratios[at((number * count_lengths() + l) * count_sizes()) + s];
        const auto members = members_of(head, sizes_[s]);
        for (std::size_t k = 0; k < members.size(); ++k) {
          notes.add(members[k]);
          notes.miss(members[k]) *= 1.0 - p;
          if (notes.told(members[k]) == 0 &&
              is_distinguishable(head, static_cast<int>(s), static_cast<int>(k))) {
            notes.told(members[k]) = 1;
            told += 1.0;
          }
        }
      }
      double covered = 0;
      for (const std::uint32_t key : notes.found()) covered += 1.0 - notes.miss(key);
      const auto keys = static_cast<double>(notes.found().size());
      out.coverage[s] = told / keys;
      out.independent[at(l * count_sizes()) + s] = covered / keys;
    }
  }
  if (out.overlap.empty()) return;
  std::size_t pair = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    notes.clear();
    for (const std::uint32_t key : members_of(group[i], group[i].clear)) notes.add(key);
    for (std::size_t j = i + 1; j < group.size(); ++j) {
      double both = 0;
      for (const std::uint32_t key : members_of(group[j], group[j].clear)) both += notes.has(key);
      const double either = group[i].clear + group[j].clear - both;
      // Heads that put no key above the rest agree on none.
      out.overlap[pair++] += either > 0 ? both / either : 0.0;
    }
  }
}

// Separability of every head: head x length x size.
std::vector<double> Coverage::ratios(const LayerStatistics& statistics) const {
  std::set<int> heads;
  for (const Shelf& shelf : shelves_) {
    for (const Kept& kept : shelf.rows) heads.insert(kept.head);
  }
  std::vector<double> all;
  for (const int head : heads) {
    for (Index l = 0; l < count_lengths(); ++l) {
      for (const int place : places_) {
        all.push_back(statistics.at("separability", head, l, place).mean);
      }
    }
  }
  return all;
}

void Coverage::end_layer(int layer, const LayerStatistics& statistics, ThreadPool& pool) {
  std::vector<Kept> kept;
  for (const Shelf& shelf : shelves_) {
    kept.insert(kept.end(), shelf.rows.begin(), shelf.rows.end());
  }
  std::ranges::sort(kept, {},
                    [](const Kept& k) { return std::tuple(k.document, k.query, k.head); });
  std::vector<Group> groups;
  for (std::size_t first = 0; first < kept.size();) {
    std::size_t last = first;
    while (last < kept.size() && kept[last].document == kept[first].document &&
           kept[last].query == kept[first].query) {
      ++last;
    }
    groups.push_back(std::span<const Kept>(kept).subspan(first, last - first));
    first = last;
  }
  std::vector<int> heads;
  for (const Kept& k : kept) heads.push_back(k.head);
  std::ranges::sort(heads);
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  const std::vector<double> ratio = ratios(statistics);

  std::vector<LayerRow> rows;
  for (const Group& group : groups) {
    rows.push_back({group.front().document, group.front().query, fewest_keys(group)});
  }
  const LayerRows means(rows, options_.lengths, document_lengths_);

  const Index sizes = count_sizes(), lengths = count_lengths();
  Matrix<double> coverage(static_cast<Index>(groups.size()), sizes);
  Matrix<double> independent(static_cast<Index>(groups.size()), lengths * sizes);
  const Index chunks = (static_cast<Index>(groups.size()) + kChunk - 1) / kChunk;
  const auto pairs = static_cast<Index>(heads.size() * (heads.size() - 1) / 2);
  Matrix<double> overlaps(chunks, pairs + 1);  // the last column counts rows
  Index keys = 0;
  for (const auto& [document, length] : document_lengths_) keys = std::max(keys, length);
  pool.for_each(chunks, [&](Index c) {
    KeyNotes notes(keys);
    const Index last = std::min<Index>((c + 1) * kChunk, static_cast<Index>(groups.size()));
    std::vector<double> overlap(at(pairs));
    for (Index g = c * kChunk; g < last; ++g) {
      const Group& group = groups[at(g)];
      RowValues out{coverage.row(g), independent.row(g), {}, &notes};
      const double weight = means.weight(at(g), lengths - 1);
      const bool compare = weight > 0 && fewest_keys(group) > kOverlapSize &&
                           group.size() == heads.size() && pairs > 0;
      if (compare) {
        std::ranges::fill(overlap, 0.0);
        out.overlap = overlap;
      }
      observe_group(group, ratio, heads, out);
      if (!compare) continue;
      for (Index p = 0; p < pairs; ++p) overlaps(c, p) += weight * overlap[at(p)];
      overlaps(c, pairs) += weight;
    }
  });

  LayerResult result;
  result.layer = layer;
  for (Index l = 0; l < lengths; ++l) {
    for (Index s = 0; s < sizes; ++s) {
      const auto of_size = sizes_[at(s)];
      result.coverage.push_back(means.mean(
          l, of_size, [&](std::size_t g) { return coverage(static_cast<Index>(g), s); }));
      double sum = 0;
      for (std::size_t h = 0; h < heads.size(); ++h) {
        sum += ratio[(h * at(lengths) + at(l)) * at(sizes) + at(s)];
      }
      CellStatistics alone;
      if (!std::isnan(sum)) {
        alone = means.mean(l, of_size, [&](std::size_t g) {
          return independent(static_cast<Index>(g), l * sizes + s);
        });
      }
      result.independent.push_back(alone);
      const auto count = static_cast<double>(heads.size());
      result.paper.push_back(alone.rows > 0 ? 1.0 - std::pow(1.0 - sum / count, count)
                                            : kUndefined);
    }
  }
  std::vector<double> total(at(pairs) + 1, 0.0);
  for (Index c = 0; c < chunks; ++c) {
    for (Index p = 0; p <= pairs; ++p) total[at(p)] += overlaps(c, p);
  }
  std::size_t pair = 0;
  for (std::size_t i = 0; i < heads.size() && total.back() > 0; ++i) {
    for (std::size_t j = i + 1; j < heads.size(); ++j) {
      const double mean = total[pair++] / total.back();
      for (const auto& [own, other] : {std::pair(i, j), std::pair(j, i)}) {
        const auto found = result.overlap.find(heads[own]);
        if (found == result.overlap.end() || mean > found->second.first) {
          result.overlap[heads[own]] = {mean, heads[other]};
        }
      }
    }
  }
  layers_.push_back(std::move(result));
  for (Shelf& shelf : shelves_) {
    shelf.rows.clear();
    shelf.members.clear();
    shelf.flags.clear();
  }
}

void Coverage::derive(Results& results) const {
  const std::vector<int> heads = coordinate_numbers(results, "head");
  // Layers may be missing from those that were observed here.
  const std::vector<int> layers = coordinate_numbers(results, "layer");
  const auto place_of = [&](const LayerResult& result) {
    return at(std::ranges::find(layers, result.layer) - layers.begin());
  };
  const std::vector<std::string> dims{"layer", "length", "top_n"};
  const auto each_cell = [&](const char* name, auto CellOf) {
    LabelledArray& metric = results.add_metric(name, dims, "1");
    metric.standard_error.assign(metric.values.size(), kUndefined);
    metric.rows.assign(metric.values.size(), 0);
    for (const LayerResult& result : layers_) {
      const std::size_t layer = place_of(result);
      for (Index l = 0; l < count_lengths(); ++l) {
        for (std::size_t place = 0; place < options_.top_n.size(); ++place) {
          const auto size =
              std::ranges::lower_bound(sizes_, options_.top_n[place]) - sizes_.begin();
          const auto from = at(l * count_sizes() + size);
          const auto cell = (layer * at(count_lengths()) + at(l)) * options_.top_n.size() + place;
          const CellStatistics statistics = CellOf(result, from);
          metric.values[cell] = statistics.mean;
          metric.standard_error[cell] = statistics.standard_error;
          metric.rows[cell] = statistics.rows;
        }
      }
    }
  };
  each_cell("union_coverage",
            [](const LayerResult& layer, std::size_t c) { return layer.coverage[c]; });
  each_cell("union_coverage_independent",
            [](const LayerResult& layer, std::size_t c) { return layer.independent[c]; });
  each_cell("union_coverage_paper", [](const LayerResult& layer, std::size_t c) {
    return CellStatistics{layer.paper[c], kUndefined, layer.independent[c].rows};
  });
  for (const bool partner : {false, true}) {
    LabelledArray& metric = results.add_metric(partner ? "top_overlap_partner" : "top_overlap",
                                             {"layer", "head"}, partner ? "head" : "1");
    for (const LayerResult& result : layers_) {
      const std::size_t layer = place_of(result);
      for (std::size_t h = 0; h < heads.size(); ++h) {
        const auto found = result.overlap.find(heads[h]);
        if (found == result.overlap.end()) continue;
        const auto& [mean, other] = found->second;
        if (partner && mean <= 0) continue;  // no head selects any key that this one does
        metric.values[layer * heads.size() + h] = partner ? other : mean;
      }
    }
  }
}

}  // namespace headgauge
