#include "measures/coverage.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "headgauge/results.hpp"
#include "measures/coordinates.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

constexpr Index kChunk = 64;  // rows of the layer that one task handles

// The keys that the heads of one row select. For each of several lengths it also has the
// probability that no head distinguishes a key, if the heads were independent.
class KeyUnion {
 public:
  // `keys` is the number of positions in the text.
  KeyUnion(Index keys, Index lengths) : lengths_(lengths), row_(keys, 0), place_of_(keys) {}
  void clear() {
    ++current_;
    size_ = 0;
    separate_ = 0;
  }
  bool has(std::uint32_t key) const { return row_[key] == current_; }
  // `ratios` is the separability, by length, of the head that selects the key.
  void add(std::uint32_t key, bool is_distinguishable, std::span<const double> ratios) {
    if (!has(key)) {
      row_[key] = current_;
      place_of_[key] = size_++;
      distinguishable_.resize(size_);
      misses_.resize(size_ * lengths_);
      distinguishable_[size_ - 1] = false;
      std::fill_n(misses_.end() - lengths_, lengths_, 1.0);
    }
    const Index place = place_of_[key];
    separate_ += is_distinguishable && !distinguishable_[place];
    distinguishable_[place] = distinguishable_[place] || is_distinguishable;
    for (Index l = 0; l < lengths_; ++l) misses_[place * lengths_ + l] *= 1.0 - ratios[l];
  }
  // Return the share of the keys that some head distinguishes, and the share expected for
  // independent heads.
  double distinguishable() const {
    return static_cast<double>(separate_) / static_cast<double>(size_);
  }
  double independent(Index length) const {
    double sum = 0;
    for (Index k = 0; k < size_; ++k) sum += 1.0 - misses_[k * lengths_ + length];
    return sum / static_cast<double>(size_);
  }

 private:
  Index lengths_;
  std::uint32_t current_ = 0;
  std::vector<std::uint32_t> row_;  // by key: the last row that added it
  std::vector<Index> place_of_;     // by key: its index in the order of adding
  Index size_ = 0;
  Index separate_ = 0;
  std::vector<bool> distinguishable_;
  std::vector<double> misses_;  // keys x lengths
};

using RowSets = std::span<const TopSet>;  // the top sets of one row, by head

// The heads of a row may see different numbers of keys under a mask: a row has sets of a size only
// if every head has.
Index fewest_keys(RowSets row) {
  return std::ranges::min_element(row, {}, &TopSet::n)->n;
}

std::vector<RowSets> split_rows(std::span<const TopSet> sets) {
  std::vector<RowSets> rows;
  for (Index first = 0; first < std::ssize(sets);) {
    Index last = first;
    while (last < std::ssize(sets) && sets[last].query == sets[first].query) ++last;
    rows.push_back(sets.subspan(first, last - first));
    first = last;
  }
  return rows;
}

Index count_chunks(Index rows) {
  return (rows + kChunk - 1) / kChunk;
}

[[noreturn]] void refuse_heads() {
  throw DamagedPartError("unions over the measured heads", "unions over other heads");
}

constexpr std::array kQueryShares = {&QuerySets::overlap, &QuerySets::overlap_random,
                                     &QuerySets::distinct, &QuerySets::distinct_random};
constexpr std::array kQueryMetrics = {metric::query_overlap, metric::query_overlap_random,
                                      metric::query_distinct, metric::query_distinct_random};

// Finds for every head the largest of its means over pairs, and the other head of that pair. `sums`
// has the sum of each head with each later one.
std::map<int, std::pair<double, int>> largest_overlaps(std::span<const int> heads,
                                                       std::span<const double> sums,
                                                       double weight) {
  std::map<int, std::pair<double, int>> largest;
  if (weight == 0) return largest;
  auto sum = sums.begin();
  for (std::size_t i = 0; i < heads.size(); ++i) {
    for (std::size_t j = i + 1; j < heads.size(); ++j) {
      const double mean = *sum++ / weight;
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

// The rows of a document.
struct Coverage::Document {
  std::vector<RowSets> rows;
  LayerRows means;
};

// Values of the rows of a document.
struct Coverage::Unions {
  Matrix<double> coverage;     // row x size
  Matrix<double> independent;  // row x (length x size)
};

Coverage::Coverage(std::vector<int> lengths, std::vector<int> sizes,
                   std::span<const Index> documents, int slots)
    : lengths_(std::move(lengths)), sizes_(std::move(sizes)), sets_(sizes_, slots) {
  for (const int length : lengths_) {
    documents_.push_back(documents_are_batches(
        std::ranges::count_if(documents, [&](Index tokens) { return tokens >= length; })));
  }
}

void Coverage::declare(MetricRegistry& metrics, MetricHandle separability) {
  separability_ = separability;
  for (const char* derived :
       {metric::union_coverage, metric::union_coverage_independent, metric::union_coverage_paper,
        metric::top_overlap, metric::top_overlap_partner}) {
    metrics.add(derived);
  }
  for (const char* derived : kQueryMetrics) metrics.add(derived);
}

void Coverage::begin_head(const HeadInput& head, Index length) {
  sets_.begin_head(head);
  length_ = length;
}

void Coverage::end_head(const HeadInput& head, const HeadMeans& means) {
  heads_.push_back(head.head);
  Matrix<double>& ratio = ratios_.emplace_back(lengths(), sizes());
  for (Index l = 0; l < lengths(); ++l) {
    for (Index s = 0; s < sizes(); ++s) ratio(l, s) = means.at(separability_, l, s);
  }
}

void Coverage::write_part(ThreadPool& pool, ByteWriter& part) {
  const std::vector<TopSet> sets = sets_.sorted();
  const std::vector<RowSets> rows = split_rows(sets);
  std::vector<LayerRow> of_layer;
  for (const RowSets& row : rows) of_layer.push_back({row.front().query, fewest_keys(row)});
  const Document document{rows, LayerRows(of_layer, lengths_, length_)};
  const Unions unions = unite(document, pool);
  part.put_list(heads_);
  for (Index l = 0; l < lengths(); ++l) {
    for (Index s = 0; s < sizes(); ++s) {
      const auto write = [&](const auto& value) {
        part.put_list(document.means.batches(l, sizes_[s], documents_[l], value));
      };
      write([&](Index r) { return unions.coverage(r, s); });
      double sum = 0;
      for (const Matrix<double>& ratio : ratios_) sum += ratio(l, s);
      if (std::isnan(sum)) {
        part.put_list(std::vector<RowSum>{});
      } else {
        write([&](Index r) { return unions.independent(r, place(l, s)); });
      }
    }
  }
  write_overlap(document, pool, part);
  write_queries(document, part);
  sets_.clear();
  heads_.clear();
  ratios_.clear();
}

void Coverage::read_part(ByteReader& part) {
  const auto heads = part.take_list<int>();
  if (sums_.coverage.empty()) {
    sums_.coverage.resize(lengths() * sizes());
    sums_.independent = sums_.coverage;
  }
  for (Index i = 0; i < lengths() * sizes(); ++i) {
    for (BatchMeans* means : {&sums_.coverage[i], &sums_.independent[i]}) {
      for (const RowSum& batch : part.take_list<RowSum>()) {
        if (batch.rows < 0 || batch.rows > kMostRows) refuse_heads();
        means->add(batch);
      }
    }
  }
  const auto weight = part.take<double>();
  const auto overlap = part.take_list<double>();
  const auto queries = part.take_list<QuerySets>();
  const auto compared = part.take_list<double>();
  if (heads.empty()) return;  // the context is too long for this document
  if (queries.size() != heads.size() * sizes_.size() || compared.size() != sizes_.size()) {
    refuse_heads();
  }
  if (overlap.size() != heads.size() * (heads.size() - 1) / 2) refuse_heads();
  if (sums_.heads.empty()) {
    sums_.heads = heads;
    sums_.overlap.resize(overlap.size());
    sums_.queries.resize(queries.size());
    sums_.documents.resize(compared.size());
  }
  if (heads != sums_.heads) refuse_heads();
  sums_.overlap_weight += weight;
  for (std::size_t i = 0; i < overlap.size(); ++i) sums_.overlap[i] += overlap[i];
  for (std::size_t i = 0; i < queries.size(); ++i) {
    for (double QuerySets::*share : kQueryShares) sums_.queries[i].*share += queries[i].*share;
  }
  for (std::size_t s = 0; s < compared.size(); ++s) sums_.documents[s] += compared[s];
}

Coverage::Unions Coverage::unite(const Document& document, ThreadPool& pool) const {
  const Index rows = std::ssize(document.rows);
  Unions unions{Matrix<double>(rows, sizes()), Matrix<double>(rows, lengths() * sizes())};
  std::vector<std::vector<double>> by_length;  // separability, by (head, size) and length
  for (const Matrix<double>& ratio : ratios_) {
    for (Index s = 0; s < sizes(); ++s) {
      auto& ratios = by_length.emplace_back();
      for (Index l = 0; l < lengths(); ++l) ratios.push_back(ratio(l, s));
    }
  }
  const auto unite_row = [&](Index r, Index size, KeyUnion& keys) {
    keys.clear();
    for (const TopSet& set : document.rows[r]) {
      const Index head = std::ranges::lower_bound(heads_, set.head) - heads_.begin();
      const auto& ratios = by_length[head * sizes() + size];
      const auto members = sets_.members(set, sizes_[size]);
      for (Index k = 0; k < std::ssize(members); ++k) {
        keys.add(members[k], sets_.is_distinguishable(set, size, k), ratios);
      }
    }
    unions.coverage(r, size) = keys.distinguishable();
    for (Index l = 0; l < lengths(); ++l) {
      unions.independent(r, place(l, size)) = keys.independent(l);
    }
  };
  pool.for_each(count_chunks(rows), [&](Index c) {
    KeyUnion keys(length_, lengths());
    for (Index r = c * kChunk; r < std::min(rows, (c + 1) * kChunk); ++r) {
      const Index fewest = fewest_keys(document.rows[r]);
      for (Index s = 0; s < sizes() && sizes_[s] < fewest; ++s) unite_row(r, s, keys);
    }
  });
  return unions;
}

// Writes the weighted sums of the Jaccard overlap of the clear top keys of every head with each
// later one, at the longest length, and their total weight.
void Coverage::write_overlap(const Document& document, ThreadPool& pool, ByteWriter& part) const {
  const Index rows = std::ssize(document.rows), heads = std::ssize(heads_);
  const Index pairs = heads * (heads - 1) / 2;
  Matrix<double> sums(count_chunks(rows), pairs);
  std::vector<double> weights(static_cast<std::size_t>(sums.rows()), 0.0);
  pool.for_each(sums.rows(), [&](Index c) {
    KeyUnion keys(length_, 0);
    for (Index r = c * kChunk; r < std::min(rows, (c + 1) * kChunk); ++r) {
      const RowSets& row = document.rows[r];
      const double weight = document.means.weight(r, lengths() - 1);
      if (weight == 0 || fewest_keys(row) <= TopSets::kOverlapSize || row.size() != heads_.size()) {
        continue;
      }
      Index pair = 0;
      for (Index i = 0; i < heads; ++i) {
        keys.clear();
        for (const std::uint32_t key : sets_.members(row[i], row[i].clear)) {
          keys.add(key, false, {});
        }
        for (Index j = i + 1; j < heads; ++j) {
          double both = 0;
          for (const std::uint32_t key : sets_.members(row[j], row[j].clear)) {
            both += keys.has(key);
          }
          const double either = row[i].clear + row[j].clear - both;
          // Two heads without clear top keys have an overlap of 0.
          sums(c, pair++) += weight * (either > 0 ? both / either : 0.0);
        }
      }
      weights[c] += weight;
    }
  });
  std::vector<double> sum(static_cast<std::size_t>(pairs), 0.0);
  double weight = 0;
  for (Index c = 0; c < sums.rows(); ++c) {
    weight += weights[c];
    for (Index pair = 0; pair < pairs; ++pair) sum[pair] += sums(c, pair);
  }
  part.put(weight);
  part.put_list(sum);
}

// Writes how the last rows of the document compare, by head and size, and by size whether there are
// two rows or more that see more keys.
void Coverage::write_queries(const Document& document, ByteWriter& part) const {
  std::vector<QuerySets> queries(heads_.size() * sizes_.size());
  std::vector<double> compared(sizes_.size(), 0.0);
  for (Index s = 0; s < sizes(); ++s) {
    std::vector<RowSets> rows;
    for (const RowSets& row : document.rows) {
      if (row.size() == heads_.size() && fewest_keys(row) > sizes_[s]) rows.push_back(row);
    }
    if (rows.size() < 2) continue;
    const Index last = std::min<Index>(std::ssize(rows), kComparedQueries);
    compared[s] = 1;
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      std::vector<TopSet> of_head;
      for (Index r = std::ssize(rows) - last; r < std::ssize(rows); ++r) {
        of_head.push_back(rows[r][h]);
      }
      queries[h * sizes_.size() + s] = compare_queries(of_head, sets_, sizes_[s], length_);
    }
  }
  part.put_list(queries);
  part.put_list(compared);
}

void Coverage::end_layer(int number, const LayerStatistics& statistics) {
  LayerResult result;
  result.layer = number;
  result.coverage = result.independent = result.paper = Matrix<Estimate>(lengths(), sizes());
  const auto heads = static_cast<double>(sums_.heads.size());
  for (const int head : sums_.heads) {
    if (head < 0 || head >= statistics.heads()) refuse_heads();
  }
  for (Index l = 0; l < lengths() && !sums_.heads.empty(); ++l) {
    for (Index s = 0; s < sizes(); ++s) {
      result.coverage(l, s) = sums_.coverage[place(l, s)].finish();
      result.independent(l, s) = sums_.independent[place(l, s)].finish();
      if (result.independent(l, s).rows == 0) continue;
      double sum = 0;
      for (const int head : sums_.heads) sum += statistics.at(separability_, head, l, s).value;
      result.paper(l, s).value = 1.0 - std::pow(1.0 - sum / heads, heads);
      result.paper(l, s).rows = result.independent(l, s).rows;
    }
  }
  for (std::size_t h = 0; h < sums_.heads.size(); ++h) {
    for (Index s = 0; s < sizes(); ++s) {
      QuerySets mean = sums_.queries[h * sizes_.size() + s];
      for (double QuerySets::*share : kQueryShares) mean.*share /= sums_.documents[s];
      result.queries[sums_.heads[h]].push_back(mean);
    }
  }
  result.overlap = largest_overlaps(sums_.heads, sums_.overlap, sums_.overlap_weight);
  results_.push_back(std::move(result));
  sums_ = {};
}

void Coverage::derive(Results& results) const {
  const std::vector<int> heads = coordinate_numbers(results, "head");
  // The results may lack layers that were observed here.
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
  write(metric::union_coverage, &LayerResult::coverage);
  write(metric::union_coverage_independent, &LayerResult::independent);
  write(metric::union_coverage_paper, &LayerResult::paper);
  for (const bool partner : {false, true}) {
    LabelledArray& metric =
        add_declared(results, partner ? metric::top_overlap_partner : metric::top_overlap);
    for (const LayerResult& result : results_) {
      for (Index h = 0; h < std::ssize(heads); ++h) {
        const auto found = result.overlap.find(heads[h]);
        if (found == result.overlap.end()) continue;
        const auto& [mean, other] = found->second;
        if (partner && mean <= 0) continue;  // no head selects any of this head's keys
        metric({place_of(result), h}) = partner ? other : mean;
      }
    }
  }
  for (std::size_t i = 0; i < kQueryMetrics.size(); ++i) {
    LabelledArray& metric = add_declared(results, kQueryMetrics[i]);
    for (const LayerResult& result : results_) {
      for (Index h = 0; h < std::ssize(heads); ++h) {
        const auto found = result.queries.find(heads[h]);
        for (Index s = 0; s < sizes() && found != result.queries.end(); ++s) {
          metric({place_of(result), h, s}) = found->second[s].*kQueryShares[i];
        }
      }
    }
  }
}

}  // namespace headgauge
