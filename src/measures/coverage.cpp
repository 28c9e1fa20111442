#include "measures/coverage.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "headgauge/results.hpp"
#include "measures/coordinates.hpp"
#include "measures/layer_rows.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

constexpr Index kChunk = 64;  // rows of the layer that one task handles

// The keys that the heads of one row select.
class KeyUnion {
 public:
  // `keys`: positions of the text.
  explicit KeyUnion(Index keys) : row_(keys, 0), entries_(keys) {}
  struct Entry {
    double miss = 1.0;  // the probability that no head distinguishes the key, were they independent
    bool distinguishable = false;
  };
  void clear() {
    ++current_;
    keys_.clear();
  }
  Entry& add(std::uint32_t key) {
    if (row_[key] != current_) {
      row_[key] = current_;
      entries_[key] = {};
      keys_.push_back(key);
    }
    return entries_[key];
  }
  bool has(std::uint32_t key) const { return row_[key] == current_; }
  // The share of the keys that some head distinguishes, and the share that independent heads would.
  double distinguishable() const {
    double sum = 0;
    for (const std::uint32_t key : keys_) sum += entries_[key].distinguishable;
    return sum / static_cast<double>(keys_.size());
  }
  double independent() const {
    double sum = 0;
    for (const std::uint32_t key : keys_) sum += 1.0 - entries_[key].miss;
    return sum / static_cast<double>(keys_.size());
  }

 private:
  std::uint32_t current_ = 0;
  std::vector<std::uint32_t> row_;  // by key: the last row that it was added in
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> keys_;  // in the order that they were added
};

using RowSets = std::span<const TopSet>;  // the heads of one row

// A mask may leave the heads of a row different numbers of keys: a row has sets of a size where
// every head has.
Index fewest_keys(RowSets row) {
  return std::ranges::min_element(row, {}, &TopSet::n)->n;
}

std::vector<RowSets> split_rows(std::span<const TopSet> sets) {
  std::vector<RowSets> rows;
  for (Index first = 0; first < std::ssize(sets);) {
    Index last = first;
    while (last < std::ssize(sets) && sets[last].document == sets[first].document &&
           sets[last].query == sets[first].query) {
      ++last;
    }
    rows.push_back(sets.subspan(first, last - first));
    first = last;
  }
  return rows;
}

std::vector<int> heads_of(std::span<const TopSet> sets) {
  std::vector<int> heads;
  for (const TopSet& set : sets) heads.push_back(set.head);
  std::ranges::sort(heads);
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  return heads;
}

Index count_chunks(Index rows) {
  return (rows + kChunk - 1) / kChunk;
}

// For every head the largest of its means over pairs, and the other head of that pair. `means` has
// those of a head with each after it; it may be empty.
std::map<int, std::pair<double, int>> largest_overlaps(std::span<const int> heads,
                                                       const Matrix<double>& means) {
  std::map<int, std::pair<double, int>> largest;
  for (Index i = 0; i < means.rows(); ++i) {
    for (Index j = i + 1; j < means.cols(); ++j) {
      const double mean = means(i, j);
      for (const auto& [own, other] : {std::pair(i, j), std::pair(j, i)}) {
        const auto found = largest.find(heads[own]);
        if (found == largest.end() || mean > found->second.first) {
          largest[heads[own]] = {mean, heads[other]};
        }
      }
    }
  }
  return largest;
}

}  // namespace

// The rows of a layer and what is known of its heads.
struct Coverage::Layer {
  std::vector<TopSet> sets;
  std::vector<RowSets> rows;
  std::vector<int> heads;
  std::vector<Matrix<double>> ratios;  // separability, by head: length x size
  std::optional<LayerRows> means;
  Index keys = 0;  // of the longest text
};

// Values of the rows of a layer.
struct Coverage::Unions {
  Matrix<double> coverage;                  // row x size
  std::vector<Matrix<double>> independent;  // by length: row x size
};

Coverage::Coverage(std::vector<int> lengths, std::vector<int> sizes, int slots)
    : lengths_(std::move(lengths)), sizes_(std::move(sizes)), sets_(sizes_, slots) {}

void Coverage::declare(MetricRegistry& metrics, MetricHandle separability) {
  separability_ = separability;
  for (const char* derived : {"union_coverage", "union_coverage_independent",
                              "union_coverage_paper", "top_overlap", "top_overlap_partner"}) {
    metrics.add(derived);
  }
}

void Coverage::begin_head(const HeadInput& head, Index length) {
  sets_.begin_head(head);
  document_lengths_[head.document] = length;
}

void Coverage::write_part(int document, ByteWriter& part) const {
  const auto length = document_lengths_.find(document);
  part.put(length != document_lengths_.end());
  if (length != document_lengths_.end()) part.put(length->second);
  sets_.write(document, part);
}

void Coverage::read_part(int document, ByteReader& part) {
  if (part.take<bool>()) document_lengths_[document] = part.take<Index>();
  sets_.read(document, part);
}

Coverage::Layer Coverage::collect(const LayerStatistics& statistics) const {
  Layer layer;
  layer.sets = sets_.sorted();
  layer.rows = split_rows(layer.sets);
  layer.heads = heads_of(layer.sets);
  for (const int head : layer.heads) {
    Matrix<double>& ratio = layer.ratios.emplace_back(lengths(), sizes());
    for (Index l = 0; l < lengths(); ++l) {
      for (Index s = 0; s < sizes(); ++s) {
        ratio(l, s) = statistics.at(separability_, head, l, s).value;
      }
    }
  }
  std::vector<LayerRow> rows;
  for (const RowSets& row : layer.rows) {
    rows.push_back({row.front().document, row.front().query, fewest_keys(row)});
  }
  layer.means.emplace(rows, lengths_, document_lengths_);
  for (const auto& [document, length] : document_lengths_) {
    layer.keys = std::max(layer.keys, length);
  }
  return layer;
}

Coverage::Unions Coverage::unite(const Layer& layer, ThreadPool& pool) const {
  const Index rows = std::ssize(layer.rows);
  Unions unions{Matrix<double>(rows, sizes()),
                std::vector<Matrix<double>>(lengths(), Matrix<double>(rows, sizes()))};
  const auto unite_row = [&](Index r, Index length, int size, KeyUnion& keys) {
    keys.clear();
    for (const TopSet& set : layer.rows[r]) {
      const Index head = std::ranges::lower_bound(layer.heads, set.head) - layer.heads.begin();
      const double p = layer.ratios[head](length, size);
      const auto members = sets_.members(set, sizes_[size]);
      for (Index k = 0; k < std::ssize(members); ++k) {
        KeyUnion::Entry& key = keys.add(members[k]);
        key.miss *= 1.0 - p;
        key.distinguishable = key.distinguishable || sets_.is_distinguishable(set, size, k);
      }
    }
    unions.coverage(r, size) = keys.distinguishable();
    unions.independent[length](r, size) = keys.independent();
  };
  pool.for_each(count_chunks(rows), [&](Index c) {
    KeyUnion keys(layer.keys);
    for (Index r = c * kChunk; r < std::min(rows, (c + 1) * kChunk); ++r) {
      const RowSets& row = layer.rows[r];
      const Index fewest = fewest_keys(row);
      for (int s = 0; s < sizes() && sizes_[s] < fewest; ++s) {
        for (Index l = 0; l < lengths(); ++l) {
          if (lengths_[l] > row.front().query) unite_row(r, l, s, keys);
        }
      }
    }
  });
  return unions;
}

void Coverage::average(const Layer& layer, const Unions& unions, LayerResult& result) const {
  const auto heads = static_cast<double>(layer.heads.size());
  result.coverage = result.independent = result.paper = Matrix<Estimate>(lengths(), sizes());
  for (Index l = 0; l < lengths(); ++l) {
    for (Index s = 0; s < sizes(); ++s) {
      result.coverage(l, s) =
          layer.means->mean(l, sizes_[s], [&](Index r) { return unions.coverage(r, s); });
      double sum = 0;
      for (const Matrix<double>& ratio : layer.ratios) sum += ratio(l, s);
      if (std::isnan(sum)) continue;
      const Estimate alone =
          layer.means->mean(l, sizes_[s], [&](Index r) { return unions.independent[l](r, s); });
      result.independent(l, s) = alone;
      if (alone.rows == 0) continue;
      result.paper(l, s).value = 1.0 - std::pow(1.0 - sum / heads, heads);
      result.paper(l, s).rows = alone.rows;
    }
  }
}

// The mean Jaccard overlap of the clear top keys of every head with each after it, at the longest
// length; empty where no row counts.
Matrix<double> Coverage::overlap(const Layer& layer, ThreadPool& pool) const {
  const Index rows = std::ssize(layer.rows), heads = std::ssize(layer.heads);
  std::vector<Matrix<double>> sums(count_chunks(rows), Matrix<double>(heads, heads));
  std::vector<double> weights(sums.size(), 0.0);
  pool.for_each(std::ssize(sums), [&](Index c) {
    KeyUnion keys(layer.keys);
    for (Index r = c * kChunk; r < std::min(rows, (c + 1) * kChunk); ++r) {
      const RowSets& row = layer.rows[r];
      const double weight = layer.means->weight(r, lengths() - 1);
      if (weight == 0 || fewest_keys(row) <= TopSets::kOverlapSize ||
          row.size() != layer.heads.size()) {
        continue;
      }
      for (Index i = 0; i < heads; ++i) {
        keys.clear();
        for (const std::uint32_t key : sets_.members(row[i], row[i].clear)) keys.add(key);
        for (Index j = i + 1; j < heads; ++j) {
          double both = 0;
          for (const std::uint32_t key : sets_.members(row[j], row[j].clear)) {
            both += keys.has(key);
          }
          const double either = row[i].clear + row[j].clear - both;
          // Heads that put no key above the rest agree on none.
          sums[c](i, j) += weight * (either > 0 ? both / either : 0.0);
        }
      }
      weights[c] += weight;
    }
  });
  double weight = 0;
  for (const double of_chunk : weights) weight += of_chunk;
  if (weight == 0) return {};
  Matrix<double> means(heads, heads);
  for (Index i = 0; i < heads; ++i) {
    for (Index j = i + 1; j < heads; ++j) {
      for (const Matrix<double>& sum : sums) means(i, j) += sum(i, j);
      means(i, j) /= weight;
    }
  }
  return means;
}

void Coverage::end_layer(int number, const LayerStatistics& statistics, ThreadPool& pool) {
  const Layer layer = collect(statistics);
  LayerResult result;
  result.layer = number;
  average(layer, unite(layer, pool), result);
  result.overlap = largest_overlaps(layer.heads, overlap(layer, pool));
  results_.push_back(std::move(result));
  sets_.clear();
}

void Coverage::derive(Results& results) const {
  const std::vector<int> heads = coordinate_numbers(results, "head");
  // Layers may be missing from those that were observed here.
  const std::vector<int> layers = coordinate_numbers(results, "layer");
  const auto place_of = [&](const LayerResult& result) {
    return std::ranges::find(layers, result.layer) - layers.begin();
  };
  const auto write = [&](const char* name, Matrix<Estimate> LayerResult::*values) {
    LabelledArray& metric = add_declared(results, name).with_standard_errors().with_rows();
    for (const LayerResult& result : results_) {
      for (Index l = 0; l < lengths(); ++l) {
        for (Index s = 0; s < sizes(); ++s) {
          metric.set({place_of(result), l, s}, (result.*values)(l, s));
        }
      }
    }
  };
  write("union_coverage", &LayerResult::coverage);
  write("union_coverage_independent", &LayerResult::independent);
  write("union_coverage_paper", &LayerResult::paper);
  for (const bool partner : {false, true}) {
    LabelledArray& metric = add_declared(results, partner ? "top_overlap_partner" : "top_overlap");
    for (const LayerResult& result : results_) {
      for (Index h = 0; h < std::ssize(heads); ++h) {
        const auto found = result.overlap.find(heads[h]);
        if (found == result.overlap.end()) continue;
        const auto& [mean, other] = found->second;
        if (partner && mean <= 0) continue;  // no head selects any key that this one does
        metric({place_of(result), h}) = partner ? other : mean;
      }
    }
  }
}

}  // namespace headgauge
