// The attention of a forward pass, tile by tile, never an L x L array.
#pragma once

#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/parallel.hpp"
#include "heads/masked_row.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

// Scratch memory of attend(), kept from layer to layer.
struct AttentionWorkspace {
  std::vector<PackedMatrix> keys;    // per kv head: d x L
  std::vector<PackedMatrix> values;  // per kv head: L x d
  std::vector<Matrix<float>> tiles;  // per thread: rows x keys
  std::vector<RangeWorkspace> rows;  // per thread
};

// Of out (L x heads * d of the model), the columns of each of `heads` = its weights of the visible
// keys (softmax(scale q k^T) unless it has another normalizer) times v.
void attend(std::span<const HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
            ThreadPool& pool);

// Memory of the workspace.
std::size_t attention_bytes(Index length, Index kv_heads, Index head_dim, int threads);

}  // namespace headgauge
