// The attention of a forward pass, tile by tile, never an L x L array.
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

// Keys and values of a kv head, packed for the two products: in blocks that pass by, or in one
// piece for rows that are weighed whole.
struct PackedHead {
  struct Block {
    PackedMatrix keys;    // d x keys
    PackedMatrix values;  // keys x d
  };
  std::vector<Block> blocks;
};

// A row of a tile: its keys, of which a mask that leaves others than a range leaves `positions`,
// and what its logits are multiplied by.
struct AttendedRow {
  KeyRange keys;
  std::vector<std::uint32_t> positions;
  float scale = 1.0f;
};

// Of one thread.
struct AttentionScratch {
  Matrix<float> tile;   // rows x keys of a block
  Matrix<float> whole;  // rows x keys of the text
  RangeWorkspace range;
  OnlineSoftmax softmax;
  std::vector<AttendedRow> rows;
};

// Scratch memory of attend(), kept from layer to layer.
struct AttentionWorkspace {
  std::vector<PackedHead> heads;
  std::vector<AttentionScratch> threads;
};

// Of out (L x heads * d of the model), the columns of each of `heads` = its weights of the visible
// keys (softmax(scale q k^T) unless it has another normalizer) times v. Softmax of scaled logits
// goes through the keys in blocks, with sums relative to the largest logit so far (online
// softmax), so that scores stay in the L2 cache; a mask that leaves all keys, and a scale of 1,
// give the same bits as none. Other normalizers, and masks that look at the logits, take whole
// rows.
void attend(std::span<const HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
            ThreadPool& pool);

// What the heads of a layer put out where others score the rows: made of the same bits as
// attend() makes of its own scores. Heads whose rows are weighed whole, or by cosines, ask for
// nothing.
class ScoredHeads {
 public:
  ScoredHeads();
  ~ScoredHeads();
  // Packs values and sets HeadInput::output of `heads`. Heads, `out` and `work` stay as they are
  // until finish().
  void begin(std::span<HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
             ThreadPool& pool);
  // Attends what the heads of begin() were not given all rows of.
  void finish(std::span<HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
              ThreadPool& pool);

 private:
  class Output;
  std::vector<std::unique_ptr<Output>> outputs_;  // of the heads that ask
};

// Memory of the workspace.
std::size_t attention_bytes(Index length, Index kv_heads, Index head_dim, int threads);

}  // namespace headgauge
