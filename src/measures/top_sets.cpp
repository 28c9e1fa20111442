#include "measures/top_sets.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace headgauge {
namespace {

constexpr Index kBits = 64;
constexpr float kTie = 1e-4f;  // weights closer than this share are tied (docs/mathematics.md 7a)

Index words_for(int size) {
  return (size + kBits - 1) / kBits;
}

// The first of the n keys that a query sees.
Index first_key(const TopSet& set) {
  return std::max<Index>(set.query + 1 - set.n, 0);
}

}  // namespace

LayerRows::LayerRows(std::vector<LayerRow> rows, std::span<const int> lengths,
                     Index document_length)
    : rows_(std::move(rows)),
      lengths_(lengths.begin(), lengths.end()),
      document_length_(document_length) {
  std::set<Index> edges(lengths_.begin(), lengths_.end());
  const Index longest = lengths_.empty() ? 0 : lengths_.back();
  for (Index edge = 1; edge < longest; edge *= 2) edges.insert(edge);
  std::map<Index, double> found;  // rows by upper edge
  const auto bin_of = [&](const LayerRow& row) {
    const auto edge = edges.upper_bound(row.query);
    return edge == edges.end() ? row.query + 1 : *edge;
  };
  for (const LayerRow& row : rows_) found[bin_of(row)] += 1.0;
  for (const LayerRow& row : rows_) {
    const Index end = bin_of(row);
    const auto edge = edges.lower_bound(end);
    const Index begin = edge == edges.begin() || edge == edges.end() ? 0 : *std::prev(edge);
    weights_.push_back(static_cast<double>(end - begin) / found[end]);
  }
}

double LayerRows::weight(Index r, Index length) const {
  const Index edge = lengths_[length];
  return rows_[r].query < edge && document_length_ >= edge ? weights_[r] : 0.0;
}

int count_clear(const Row& row, int size) {
  if (row.n() <= size) return 0;
  const auto weight = [&](int rank) { return std::abs(row.weights[row.top[rank]]); };
  const float limit = (1 + kTie) * weight(size);
  int clear = 0;
  while (clear < size && weight(clear) > limit) ++clear;
  return clear;
}

TopSets::TopSets(std::vector<int> sizes, int slots) : sizes_(std::move(sizes)), kept_(slots) {
  for (const int size : sizes_) {
    first_word_.push_back(words_);
    words_ += words_for(size);
  }
}

std::size_t TopSets::bytes(std::span<const int> sizes) {
  Index words = 0;
  for (const int size : sizes) words += words_for(size);
  const int largest = std::max(kOverlapSize, sizes.empty() ? 0 : sizes.back());
  return sizeof(TopSet) + largest * sizeof(std::uint32_t) + words * sizeof(std::uint64_t);
}

void TopSets::begin_head(const HeadInput& head) {
  head_ = head.head;
}

void TopSets::add_row(int slot, const Row& row) {
  Kept& kept = kept_[slot];
  kept.sets.push_back({row.query, head_, row.n(), count_clear(row, kOverlapSize), slot,
                       std::ssize(kept.members), std::ssize(kept.words)});
  Index count = kOverlapSize;
  for (const int size : sizes_) {
    if (size < row.n()) count = std::max<Index>(count, size);
  }
  for (const std::uint32_t number : row.top.first(std::min(count, std::ssize(row.top)))) {
    kept.members.push_back(static_cast<std::uint32_t>(row.key(number)));
  }
  kept.words.resize(kept.words.size() + words_, 0);
}

void TopSets::add_distinguishable(int slot, int size, std::span<const std::uint64_t> members) {
  Kept& kept = kept_[slot];
  std::ranges::copy(members, kept.words.begin() + kept.sets.back().first_word + first_word_[size]);
}

std::vector<TopSet> TopSets::sorted() const {
  std::vector<TopSet> sets;
  for (const Kept& kept : kept_) sets.insert(sets.end(), kept.sets.begin(), kept.sets.end());
  std::ranges::sort(sets, {}, [](const TopSet& s) { return std::pair(s.query, s.head); });
  return sets;
}

std::span<const std::uint32_t> TopSets::members(const TopSet& set, int count) const {
  return std::span(kept_[set.slot].members).subspan(set.first_member, count);
}

bool TopSets::is_distinguishable(const TopSet& set, int size, Index rank) const {
  const Index word = set.first_word + first_word_[size] + rank / kBits;
  return (kept_[set.slot].words[word] >> (rank % kBits) & 1) != 0;
}

void TopSets::clear() {
  for (Kept& kept : kept_) {
    kept.sets.clear();
    kept.members.clear();
    kept.words.clear();
  }
}

QuerySets compare_queries(std::span<const TopSet> sets, const TopSets& members, int size,
                          Index keys) {
  std::vector<double> count(static_cast<std::size_t>(keys), 0.0);
  // Sums of log(1 - size/n) over the queries that see a key, as differences along the keys.
  std::vector<double> misses(static_cast<std::size_t>(keys) + 1, 0.0);
  QuerySets found;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto n = static_cast<double>(sets[i].n);
    const Index begin = first_key(sets[i]), end = begin + sets[i].n;
    for (const std::uint32_t key : members.members(sets[i], size)) {
      found.overlap += count[key];  // with the queries before
      found.distinct += count[key] == 0 ? 1 : 0;
      ++count[key];
    }
    const double log_miss = std::log1p(-size / n);
    misses[begin] += log_miss;
    misses[end] -= log_miss;
    for (std::size_t j = 0; j < i; ++j) {
      const Index other = first_key(sets[j]);
      const Index first = std::max(begin, other), last = std::min(end, other + sets[j].n);
      const auto both = static_cast<double>(std::max<Index>(last - first, 0));
      found.overlap_random += both * size / n * size / static_cast<double>(sets[j].n);
    }
  }
  double sum = 0;
  for (Index key = 0; key < keys; ++key) {
    sum += misses[key];
    found.distinct_random -= std::expm1(sum);
  }
  const auto queries = static_cast<double>(sets.size());
  const double pairs = queries * (queries - 1) / 2;
  found.overlap /= pairs * size;
  found.overlap_random /= pairs * size;
  found.distinct /= queries * size;
  found.distinct_random /= queries * size;
  return found;
}

}  // namespace headgauge
