// Computes the attention of a forward pass tile by tile, never as an L x L array.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/parallel.hpp"
#include "heads/masked_row.hpp"
#include "kernels/gemm.hpp"
#include "kernels/online_softmax.hpp"

namespace headgauge {

// Keys and values of a key-value head, packed for the two products: in blocks, or in one piece for
// rows that are weighed whole.
struct PackedHead {
  struct Block {
    PackedMatrix keys;    // d x keys
    PackedMatrix values;  // keys x d
  };
  std::vector<Block> blocks;
};

// A row of a tile: its range of keys, the `positions` of the keys if a mask keeps others than a
// range, and the factor for its logits.
struct AttendedRow {
  KeyRange keys;
  std::vector<std::uint32_t> positions;
  float scale = 1.0f;
};

// Memory of one thread.
struct AttentionScratch {
  Matrix<float> tile;   // rows x keys of a block
  Matrix<float> whole;  // rows x keys of the text
  RangeWorkspace range;
  std::vector<RangeRow> range_rows;
  OnlineSoftmax softmax;
  std::vector<AttendedRow> rows;
};

// Memory of attend(), reused for each layer.
struct AttentionWorkspace {
  std::vector<PackedHead> heads;
  std::vector<AttentionScratch> threads;
};

// Fills the columns of each of `heads` in out (L x heads * d of the model): the weights on the
// visible keys (softmax(scale q k^T) unless the head has another normalizer) times v. For softmax
// of scaled logits it processes the keys in blocks, with sums relative to the largest logit so far
// (online softmax), so that scores stay in the L2 cache. A mask that keeps all keys, and a scale of
// 1, give the same bits as none. Other normalizers, and masks that depend on the logits, process
// whole rows.
void attend(std::span<const HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
            ThreadPool& pool);

// Computes the outputs of a layer's heads from logits that others score, with the same bits as
// attend(). Heads whose rows are weighed whole, or by cosines, do not ask for logits.
class ScoredHeads {
 public:
  ScoredHeads();
  ~ScoredHeads();
  // Packs values and sets HeadInput::output of `heads`. Heads, `out` and `work` must not change
  // until finish().
  void begin(std::span<HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
             ThreadPool& pool);
  // Calls attend() for the heads of begin() that did not receive all rows.
  void finish(std::span<HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
              ThreadPool& pool);

 private:
  class Output;
  std::vector<std::unique_ptr<Output>> outputs_;  // outputs of the heads that ask for logits
};

// Returns the bytes of the workspace.
std::size_t attention_bytes(Index length, Index kv_heads, Index head_dim, int threads);

}  // namespace headgauge
