// The parts that forward passes are made of. All work on blocks of rows in parallel; a row's
// result does not depend on the number of threads.
#pragma once

#include <span>

#include "base/parallel.hpp"
#include "headgauge/base.hpp"
#include "headgauge/checkpoint.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

// Rows that a thread works on at a time.
inline constexpr Index kForwardRows = 64;

// The blocks [first, first + rows) of `total` rows, in parallel: body(first, rows, slot).
template <class Body>
void for_row_blocks(ThreadPool& pool, Index total, const Body& body) {
  const Index blocks = (total + kForwardRows - 1) / kForwardRows;
  pool.for_each_slot(blocks, [&](Index b, int slot) {
    const Index first = b * kForwardRows;
    body(first, std::min(kForwardRows, total - first), slot);
  });
}

// A linear map x W + b with W packed for gemm.
struct Linear {
  PackedMatrix weight;        // in x out
  AlignedVector<float> bias;  // out, or empty
  void apply(MatrixView<const float> x, MatrixView<float> out, bool accumulate = false) const {
    gemm(x, weight, out, {.bias = bias, .accumulate = accumulate});
  }
};

struct LayerNorm {
  AlignedVector<float> weight;
  AlignedVector<float> bias;
  double epsilon = 1e-5;
  // out = (x - mean) / sqrt(var + epsilon) * weight + bias, row by row, sums in float64.
  void apply(MatrixView<const float> x, MatrixView<float> out) const;
};

// Conv1D as Hugging Face's GPT-2 stores it: weight in x out, bias out. Into the memory that
// `linear` already has.
void load_conv1d(const Checkpoint& checkpoint, const std::string& name, Index in, Index out,
                 ThreadPool& pool, Linear& linear);
LayerNorm load_layer_norm(const Checkpoint& checkpoint, const std::string& name, Index width,
                          double epsilon);

}  // namespace headgauge
