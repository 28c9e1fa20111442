// What the heads of a layer cover together (math 7a): the union of their selected keys, and of
// those that at least one head tells apart; and how far two heads select the same keys.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

class Coverage {
 public:
  static constexpr int kOverlapSize = 10;  // keys that top_overlap compares, at most
  // What a row must give: the first key left out tells which of those before it are tied with it.
  static constexpr int kDepth = kOverlapSize + 1;

  // `sizes` are the distinct N of options.top_n, ascending.
  Coverage(const MeasureOptions& options, std::vector<int> sizes, int slots);

  // The text of `head` is measured as far as `length`.
  void begin_head(const HeadInput& head, Index length);
  // Keeps the top set of a row of that head.
  void begin_row(int slot, const Row& row);
  // Which members of its set of size number `size` are distinguishable, one bit each.
  void add_set(int slot, int size, std::span<const std::uint64_t> members);

  // Unions over the heads kept since the last call; `statistics` has their separability.
  void end_layer(int layer, const LayerStatistics& statistics, ThreadPool& pool);
  void derive(Results& results) const;

  // Memory for one row of one head.
  static std::size_t row_bytes(std::span<const int> sizes);

 private:
  struct Kept {
    int document = 0;
    Index query = 0;
    int head = 0;
    int slot = 0;
    Index n = 0;
    std::size_t members = 0;  // first of them in the shelf
    std::size_t flags = 0;    // first word
    int clear = 0;            // leading members that top_overlap compares
  };
  // What one thread has kept.
  struct Shelf {
    std::vector<Kept> rows;
    std::vector<std::uint32_t> members;  // positions, by rank
    std::vector<std::uint64_t> flags;    // one bit a member, each size from a word of its own
  };
  struct LayerResult {
    int layer = 0;
    std::vector<CellStatistics> coverage, independent;  // length x size
    std::vector<double> paper;
    std::map<int, std::pair<double, int>> overlap;  // by head: largest overlap, partner
  };
  struct RowValues;
  using Group = std::span<const Kept>;  // the heads of one row

  static Index fewest_keys(Group group);
  std::span<const std::uint32_t> members_of(const Kept& kept, int size) const;
  bool is_distinguishable(const Kept& kept, int size, int rank) const;
  std::vector<double> ratios(const LayerStatistics& statistics) const;
  void observe_group(Group group, std::span<const double> ratios, std::span<const int> heads,
                     RowValues& out) const;
  Index count_lengths() const { return static_cast<Index>(options_.lengths.size()); }
  Index count_sizes() const { return static_cast<Index>(sizes_.size()); }

  MeasureOptions options_;
  std::vector<int> sizes_;
  std::vector<int> places_;              // of each size in options.top_n
  std::vector<std::size_t> first_word_;  // of each size in a row's flags
  std::size_t words_ = 0;
  int document_ = 0, head_ = 0;
  std::map<int, Index> document_lengths_;
  std::vector<Shelf> shelves_;
  std::vector<LayerResult> layers_;
};

}  // namespace headgauge
