// Scores the rows of a head, tile by tile, and lets every measure look at them.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "headgauge/measure.hpp"
#include "headgauge/parallel.hpp"
#include "kernels/gemm.hpp"
#include "kernels/top.hpp"
#include "scan/plan.hpp"
#include "scan/statistics.hpp"

namespace headgauge {

class HeadScanner {
 public:
  HeadScanner(std::span<const std::unique_ptr<Measure>> measures, const CellLayout& layout,
              const RowPlan& plan, ThreadPool& pool);

  // Observes all planned rows of `head`, a head of document head.document, and adds their values
  // to `accumulator`: under the head's normalizer, softmax where it has none, with the keys that
  // its mask leaves. A row whose scores are all -Inf sees no key and is left out. Throws
  // BadInputError where another visible score is NaN or infinite, or a mask leaves no key.
  void scan(const HeadInput& head, HeadAccumulator& accumulator);

  // Rows left out so far.
  Index rows_without_keys() const { return rows_without_keys_; }

  // Memory for tiles and packed keys at this length.
  static std::size_t bytes(Index longest, Index head_dim, int threads, bool masked = false);

 private:
  struct Workspace {
    Matrix<float> queries;  // rows scored together x d
    AlignedVector<float> logit_memory;
    AlignedVector<float> weight_memory;
    MatrixView<float> logits;  // of the present tile: rows x keys
    MatrixView<float> weights;
    Matrix<double> values, stand_for;  // rows x cells
    AlignedVector<float> unmasked_memory;
    MatrixView<float> unmasked;
    std::vector<std::uint32_t> top;
    std::vector<Row> rows;
    std::vector<bool> without_keys;                     // by row
    std::vector<std::vector<std::uint32_t>> positions;  // by row, where a mask leaves gaps
    std::vector<float> magnitudes;
    TopWorkspace select;
  };

  // The normalizer that the present head is measured under, and what follows from it.
  struct Present {
    const Normalizer* normalizer = nullptr;
    NormalizerTraits traits;
    bool weights = false;
    bool unmasked = false;
  };

  // Logits of rows [first, first + count) of the tile against the first `keys` keys.
  void score(const HeadInput& head, const Tile& tile, Index first, Index count, Index keys,
             Workspace& work) const;
  // The logits of row r: those of its range, or of the keys that the mask leaves of it.
  void select(const HeadInput& head, Index r, Workspace& work);
  std::span<const float> ranking(const Row& row, Workspace& work) const;
  // Weights, sums and top keys of row r of the tile.
  void weigh(const HeadInput& head, Index r, Workspace& work) const;
  void scan_tile(const HeadInput& head, const Tile& tile, int slot, HeadAccumulator& accumulator);

  std::unique_ptr<Normalizer> softmax_;
  std::span<const std::unique_ptr<Measure>> measures_;
  const CellLayout& layout_;
  const RowPlan& plan_;
  ThreadPool& pool_;
  MeasureNeeds needs_;
  Present present_;
  std::array<int, 4> packed_of_{-1, -1, -1, -1};  // layer, document, kv_head, whether unit vectors
  PackedMatrix packed_;
  std::atomic<Index> rows_without_keys_ = 0;
  std::vector<Workspace> workspaces_;
};

}  // namespace headgauge
