// The top sets of the rows of a layer in one document, kept until all of its heads are measured,
// and whether different queries of a head select the same keys (docs/mathematics.md 7a).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/measure.hpp"
#include "heads/batch_means.hpp"

namespace headgauge {

// The rows of a layer in one document, for means at every length. Means are taken as the scan takes
// them over the rows of a head.

struct LayerRow {
  Index query = 0;
  Index n = 0;
};

class LayerRows {
 public:
  // `rows` are by query, in a document of `document_length` tokens. If rows are a sample, each row
  // represents its share of the rows in its position bin (edges: the lengths and the powers of two
  // below the longest).
  LayerRows(std::vector<LayerRow> rows, std::span<const int> lengths, Index document_length);

  // Returns the weight of row `r` in the mean over the rows up to the length with index `length`; 0
  // if it is not included.
  double weight(Index r, Index length) const;

  // Sums value(r) over the rows with more than `size` keys for each batch: the blocks, or all rows
  // if documents are the batches.
  template <class Value>
  std::vector<RowSum> batches(Index length, int size, bool documents, const Value& value) const {
    std::vector<RowSum> batches;
    Index block = -1;
    for (Index r = 0; r < std::ssize(rows_); ++r) {
      const double w = weight(r, length);
      if (w == 0 || rows_[r].n <= size) continue;
      const Index of_row = documents ? 0 : rows_[r].query / kBlockRows;
      if (of_row != block) batches.emplace_back();
      block = of_row;
      batches.back().add({w * value(r), w, 1});
    }
    return batches;
  }

 private:
  std::vector<LayerRow> rows_;
  std::vector<double> weights_;
  std::vector<int> lengths_;
  Index document_length_;
};

// The top set of one row of one head.
struct TopSet {
  Index query = 0;
  int head = 0;
  Index n = 0;    // keys that the row sees
  int clear = 0;  // number of first keys above the first one left out (see count_clear())
  // Index of the set in TopSets.
  int slot = 0;
  Index first_member = 0;
  Index first_word = 0;
};

class TopSets {
 public:
  static constexpr int kOverlapSize = 10;  // most keys that top_overlap compares
  // The number of top keys that a row must provide: the first key left out shows which of the keys
  // before it are tied with it.
  static constexpr int kDepth = kOverlapSize + 1;

  // `sizes` are the N of top_n, ascending and distinct. `slots` threads add rows.
  TopSets(std::vector<int> sizes, int slots);

  // Starts a head; the following rows belong to it.
  void begin_head(const HeadInput& head);
  void add_row(int slot, const Row& row);
  // Marks the distinguishable members in set number `size` of the last row of `slot`: bit k % 64 of
  // word k / 64 for the member of rank k.
  void add_distinguishable(int slot, int size, std::span<const std::uint64_t> members);

  // Returns all sets, by query, then head.
  std::vector<TopSet> sorted() const;
  // Returns the positions of the `count` largest weights, by rank.
  std::span<const std::uint32_t> members(const TopSet& set, int count) const;
  bool is_distinguishable(const TopSet& set, int size, Index rank) const;
  void clear();

  // Returns the memory for one set in bytes.
  static std::size_t bytes(std::span<const int> sizes);

 private:
  // The sets kept by one thread.
  struct Kept {
    std::vector<TopSet> sets;
    std::vector<std::uint32_t> members;  // positions, by rank
    std::vector<std::uint64_t> words;    // a bit for each member; each size starts a new word
  };

  std::vector<int> sizes_;
  std::vector<Index> first_word_;  // of each size
  Index words_ = 0;                // in a set
  int head_ = 0;
  std::vector<Kept> kept_;  // by slot
};

// Counts the first keys of a row, at most `size`, whose weights are above that of key number `size`
// and not tied with it.
int count_clear(const Row& row, int size);

// Shares of the members of the sets of a head's queries: the mean over pairs of queries of those
// that both select, and the distinct keys of all queries together. Beside each stands its
// expectation if every query drew its set from the keys that it sees.
struct QuerySets {
  double overlap = 0, overlap_random = 0, distinct = 0, distinct_random = 0;
};

inline constexpr Index kComparedQueries = 64;

// `sets` are those of one head, by query, at least 2, in a text of `keys` tokens; each query sees
// more than `size` keys. The random sets take them as the last ones up to the query.
QuerySets compare_queries(std::span<const TopSet> sets, const TopSets& members, int size,
                          Index keys);

}  // namespace headgauge
