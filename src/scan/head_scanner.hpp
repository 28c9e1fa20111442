// Scores the rows of a head tile by tile, and passes them to every measure.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "headgauge/measure.hpp"
#include "headgauge/parallel.hpp"
#include "kernels/gemm.hpp"
#include "kernels/top.hpp"
#include "scan/measured_rows.hpp"
#include "scan/statistics.hpp"

namespace headgauge {

// Number of rows left out of all metrics, by reason.
struct LeftOutRows {
  Index without_keys = 0;
  Index beyond_float32 = 0;
  LeftOutRows operator-(const LeftOutRows& other) const {
    return {without_keys - other.without_keys, beyond_float32 - other.beyond_float32};
  }
  LeftOutRows& operator+=(const LeftOutRows& other) {
    without_keys += other.without_keys;
    beyond_float32 += other.beyond_float32;
    return *this;
  }
};

class HeadScanner {
 public:
  HeadScanner(std::span<const std::unique_ptr<Measure>> measures, const CellLayout& layout,
              const MeasuredRows& plan, ThreadPool& pool, std::stop_token stop = {});

  // Observes all planned rows of `head` (in document head.document) and returns the sums of their
  // values in `sums`. Uses the head's normalizer (softmax by default) on the keys that its mask
  // keeps. `original` is the same head without the scan's change. A row whose scores are all -Inf
  // sees no key and is left out. Throws BadInputError if another visible score is NaN or infinite,
  // or if a mask keeps no key. After a stop request the rest of the head is not observed.
  void scan(const HeadInput& head, const HeadInput& original, HeadSums& sums);

  // Returns the rows left out so far.
  LeftOutRows left_out() const { return {without_keys_, beyond_float32_}; }

  // Returns the memory for tiles and packed keys at this length.
  static std::size_t bytes(Index longest, Index head_dim, int threads, bool changed = false);

 private:
  struct Workspace {
    Matrix<float> queries;  // rows scored together x d
    AlignedVector<float> logit_memory;
    AlignedVector<float> weight_memory;
    MatrixView<float> logits;  // of the present tile: rows x keys
    MatrixView<float> weights;
    Matrix<double> values, stand_for;  // rows x cells
    AlignedVector<float> original_memory;
    MatrixView<float> original;  // weights without the scan's change: rows x keys
    std::vector<std::uint32_t> top;
    std::vector<Row> rows;
    std::vector<WeighedRow> weighed;                    // some of `rows`
    std::vector<std::vector<std::uint32_t>> sinks;      // by row
    std::vector<std::vector<std::uint32_t>> positions;  // by row; used if a mask leaves gaps
    std::vector<float> original_row;                    // where a mask leaves gaps
    TopWorkspace select;
  };

  // The normalizer of the present head and its properties; those of the original if a measure needs
  // them.
  struct Present {
    const Normalizer* normalizer = nullptr;
    NormalizerTraits traits;
    bool weights = false;
    const Normalizer* original = nullptr;
    NormalizerTraits original_traits;
    bool adds_mask = false;        // the original has none
    HeadOutput* output = nullptr;  // receives the logits of every row; null: not needed
    // True if the original has other logits: exactly one of the two normalizers takes cosines.
    bool rescored() const {
      return original != nullptr && traits.unit_norms != original_traits.unit_norms;
    }
  };

  // The keys of a head, packed once for the heads that share them.
  struct PackedKeys {
    std::array<int, 3> of{-1, -1, -1};  // layer, document, kv_head
    PackedMatrix keys;
  };
  void pack(const HeadInput& head, bool unit);

  // Computes the logits of rows [first, first + count) of the tile for the first `keys` keys, and
  // those of the original if they differ.
  void score(const HeadInput& head, const Tile& tile, Index first, Index count, Index keys,
             Workspace& work) const;
  // Computes the logits of some queries, ascending; `unit`: of queries and keys with norm 1.
  void score_rows(const HeadInput& head, std::span<const Index> queries, bool unit,
                  MatrixView<float> logits, Workspace& work) const;
  // Sets the logits of row r to those of its range. Leaves out a row that sees no key.
  void show(const HeadInput& head, Index r, Workspace& work) const;
  // Keeps the logits of row r whose keys the mask keeps.
  void select(const HeadInput& head, Index r, Workspace& work) const;
  std::span<const float> ranking(const Row& row) const;
  // Computes weights and sums of rows [first, first + count) of the tile.
  void weigh(const HeadInput& head, Index first, Index count, Workspace& work) const;
  // Finds top keys and sinks of row r of the tile.
  void mark(Index r, Workspace& work) const;
  // The reason for weighing a tile. Rows that find sinks have no marks, and only whole rows make
  // the output of the head.
  enum class Purpose { find_sinks, measure, measure_apart };
  void weigh_tile(const HeadInput& head, const Tile& tile, Purpose purpose, Workspace& work);
  // Finds the sinks of the present head by its own weights (src/scan/head_sinks.cpp).
  void find_sinks(HeadInput& head);
  // Computes the weights of these rows without the scan's changes.
  void weigh_original(Index first, Index count, Workspace& work) const;
  // Sets everything that depends on the normalizers and masks of the two heads, and packs the keys.
  void prepare(const HeadInput& head, const HeadInput& original);
  // A head by MeasureNeeds::Keys. What is no other head than one before it has no measures.
  using Keys = MeasureNeeds::Keys;
  struct View {
    HeadInput head;
    std::vector<bool> measures;  // which observe it
  };
  using Views = std::array<View, 3>;
  // Lets each measure observe the rows of a tile in its view.
  void scan_tile(const Views& views, const Tile& tile, int slot, HeadSums& sums);
  Views views_of(const HeadInput& head) const;

  std::unique_ptr<Normalizer> softmax_;
  std::span<const std::unique_ptr<Measure>> measures_;
  const CellLayout& layout_;
  const MeasuredRows& plan_;
  ThreadPool& pool_;
  std::stop_token stop_;
  MeasureNeeds needs_;
  std::vector<Keys> keys_;  // by measure
  Present present_;
  std::vector<Index> sinks_;          // sinks of the present head, ascending
  std::array<PackedKeys, 2> packed_;  // unchanged, and with norm 1
  std::atomic<Index> without_keys_ = 0, beyond_float32_ = 0;
  std::vector<Workspace> workspaces_;
};

}  // namespace headgauge
