// The top sets of the rows of a layer in one document, kept until all of its heads are measured.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/measure.hpp"

namespace headgauge {

// The top set of one row of one head.
struct TopSet {
  Index query = 0;
  int head = 0;
  Index n = 0;    // keys that the row sees
  int clear = 0;  // how many of its first keys lie above the first one left out (see count_clear())
  // Where TopSets keeps it.
  int slot = 0;
  Index first_member = 0;
  Index first_word = 0;
};

class TopSets {
 public:
  static constexpr int kOverlapSize = 10;  // keys that top_overlap compares, at most
  // The number of top keys that a row must give: the first key left out says which of those before
  // it are tied with it.
  static constexpr int kDepth = kOverlapSize + 1;

  // `sizes`: the N of top_n, ascending and distinct. `slots` threads add rows.
  TopSets(std::vector<int> sizes, int slots);

  // The rows that follow are of this head.
  void begin_head(const HeadInput& head);
  void add_row(int slot, const Row& row);
  // Which members of the set of size number `size` of the last row of `slot` are distinguishable:
  // bit k % 64 of word k / 64 for the member of rank k.
  void add_distinguishable(int slot, int size, std::span<const std::uint64_t> members);

  // All sets, by query, then head.
  std::vector<TopSet> sorted() const;
  // The positions of the `count` largest weights, by rank.
  std::span<const std::uint32_t> members(const TopSet& set, int count) const;
  bool is_distinguishable(const TopSet& set, int size, Index rank) const;
  void clear();

  // Memory for one set, in bytes.
  static std::size_t bytes(std::span<const int> sizes);

 private:
  // What one thread has kept.
  struct Kept {
    std::vector<TopSet> sets;
    std::vector<std::uint32_t> members;  // positions, by rank
    std::vector<std::uint64_t> words;    // a bit for each member, each size from a word of its own
  };

  std::vector<int> sizes_;
  std::vector<Index> first_word_;  // of each size
  Index words_ = 0;                // of a set
  int head_ = 0;
  std::vector<Kept> kept_;  // by slot
};

// Counts the first keys of a row, `size` at most, whose weights lie above that of key number `size`
// and are not tied with it.
int count_clear(const Row& row, int size);

}  // namespace headgauge
