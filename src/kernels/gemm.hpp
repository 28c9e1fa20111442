// Matrix product in float32 with a packed right-hand side, for score tiles, linear layers and Gram
// matrices. One call runs on one thread; callers split the rows of A among threads. A row of the
// result has the same bits whichever other rows are in the call.
#pragma once

#include <cstdint>
#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// The format of 16-bit storage.
enum class HalfType { f16, bf16 };

// B (k x n) cut into panels of 48 columns, each stored row by row: panel p holds B[i, 48p + j] at
// panel(p)[48 i + j], zero beyond column n. The layout is the same at every SIMD level.
class PackedMatrix {
 public:
  static constexpr Index kPanel = 48;

  PackedMatrix() = default;
  // Makes a matrix of zeros, to be filled in through panel().
  PackedMatrix(Index rows, Index cols) { resize(rows, cols); }
  // Packs b as it is (k x n, row-major).
  static PackedMatrix pack_rows(MatrixView<const float> b);
  static PackedMatrix pack_rows(MatrixView<const std::uint16_t> b, HalfType type);
  // Packs the transpose of b (bt: n x k, row-major): keys, embeddings, PyTorch Linear weights.
  static PackedMatrix pack_transposed(MatrixView<const float> bt);
  static PackedMatrix pack_transposed(MatrixView<const std::uint16_t> bt, HalfType type);

  // Do the same in the memory that this matrix already has, with the values times `scale`.
  void assign_rows(MatrixView<const float> b);
  void assign_rows(MatrixView<const std::uint16_t> b, HalfType type);
  void assign_transposed(MatrixView<const float> bt, float scale = 1.0f);
  void assign_transposed(MatrixView<const std::uint16_t> bt, HalfType type);

  // Does the same in pieces, so that threads can share the work: call resize(), then assign every
  // row or every panel once. A panel has 48 rows of bt, the last one the rest.
  void resize(Index rows, Index cols);
  void put_rows(MatrixView<const float> b, Index first_row);
  void put_panel(MatrixView<const float> bt, Index panel, float scale = 1.0f);

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index panels() const { return (cols_ + kPanel - 1) / kPanel; }
  std::size_t bytes() const { return data_.size() * sizeof(float); }
  const float* panel(Index p) const { return data_.data() + p * rows_ * kPanel; }
  float* panel(Index p) { return data_.data() + p * rows_ * kPanel; }

 private:
  AlignedVector<float> data_;
  Index rows_ = 0;
  Index cols_ = 0;
};

struct GemmOptions {
  std::span<const float> bias = {};  // added to every row; b.cols() values, or empty
  bool accumulate = false;           // add to c instead of overwriting it
  // Only columns [col_begin, col_end) of c are computed and written; -1 means to the last. A causal
  // score tile limits itself to its visible half in this way.
  Index col_begin = 0;
  Index col_end = -1;
  // The row of b that column 0 of a multiplies: a tile of weights over the keys [b_row, b_row +
  // a.cols()) multiplies only their values.
  Index b_row = 0;
};

// Computes c = a b + bias, or c += a b + bias. a is m x k; c is m x b.cols(), or at least col_end
// columns wide. a may have fewer columns than b has rows, see b_row. a and c must not overlap.
void gemm(MatrixView<const float> a, const PackedMatrix& b, MatrixView<float> c,
          const GemmOptions& options = {});

// Computes <x, y> in float32 lanes.
float dot(std::span<const float> x, std::span<const float> y);

// Converts 16-bit storage to float32, exactly.
void widen(std::span<const std::uint16_t> in, HalfType type, std::span<float> out);

}  // namespace headgauge
