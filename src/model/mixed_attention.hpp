// Attention of heads that mix the outputs of several choices, and its reverse pass
// (docs/mathematics.md 7f). Both work tile by tile: a few queries with all their keys.
#pragma once

#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/parallel.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

// The heads of a layer under each choice. The output of a head is the sum over choices of gate
// times output.
struct MixedHeads {
  std::vector<std::vector<HeadInput>> choices;  // by choice and head; they share queries, keys and
                                                // values
  std::vector<std::vector<double>> gates;       // by head and choice
};

class MixedAttention {
 public:
  // Fills the columns of each head in out (L x heads * d).
  void attend(const MixedHeads& heads, MatrixView<float> out, ThreadPool& pool);

  // Computes gradients from that by the output (L x heads * d): by_heads by queries and keys, as
  // HeadInput has them, and by values, side by side (L x (heads + 2 kv_heads) d); and by_gates by
  // head and choice.
  void reverse(const MixedHeads& heads, MatrixView<const float> by_out, MatrixView<float> by_heads,
               std::vector<std::vector<double>>& by_gates, ThreadPool& pool);

 private:
  struct Tile;
  struct PackedKeys {
    PackedMatrix scored;             // d x L, times the scale: for logits
    PackedMatrix keys, values;       // L x d: for sums over keys
    PackedMatrix transposed_values;  // d x L
  };
  // Memory of one thread.
  struct Scratch {
    Matrix<float> logits, by_weights, transposed;  // rows x L, and L x rows
    PackedMatrix queries, by_out;
    std::vector<std::uint32_t> positions;
    std::vector<float> kept, weights, gathered, mixed, by_logits;
    std::vector<double> exact, by_exact, result;
  };
  // What a stripe of a head's rows adds to the gradients of its keys and values.
  struct Partial {
    Matrix<float> keys, values;
    std::vector<double> gates;
  };

  void pack(const std::vector<HeadInput>& heads, bool reversed, ThreadPool& pool);
  void make_logits(const Tile& tile, Scratch& scratch) const;
  void mix_row(const Tile& tile, Index row, Scratch& scratch, Partial* partial) const;
  void reverse_tile(const Tile& tile, MatrixView<const float> by_out, MatrixView<float> by_queries,
                    Scratch& scratch, Partial& partial) const;

  std::vector<PackedKeys> packed_;  // by key-value head
  std::vector<Scratch> scratch_;    // by thread
  std::vector<Partial> partials_;   // by head and stripe
};

}  // namespace headgauge
