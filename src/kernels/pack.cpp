#include <algorithm>

#include "kernels/gemm.hpp"
#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pack.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HEADGAUGE_AVX

using D8 = hn::FixedTag<float, 8>;
using V8 = hn::Vec<D8>;

// Return pairs of floats of x and y next to each other, from the lower or upper half of every 128
// bits.
HWY_INLINE V8 pairs_lower(V8 x, V8 y) {
  const D8 d;
  const hn::Repartition<double, D8> pairs;
  const auto out = hn::InterleaveLower(pairs, hn::BitCast(pairs, x), hn::BitCast(pairs, y));
  return hn::BitCast(d, out);
}

HWY_INLINE V8 pairs_upper(V8 x, V8 y) {
  const D8 d;
  const hn::Repartition<double, D8> pairs;
  const auto out = hn::InterleaveUpper(pairs, hn::BitCast(pairs, x), hn::BitCast(pairs, y));
  return hn::BitCast(d, out);
}

// Computes out[i, j] = scale in[j, i] for 8 x 8 floats.
HWY_INLINE void transpose_block(const float* HWY_RESTRICT in, Index in_stride, float scale,
                                float* HWY_RESTRICT out, Index out_stride) {
  const D8 d;
  V8 a[8], b[8];
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    a[j] = hn::Mul(hn::LoadU(d, in + j * in_stride), hn::Set(d, scale));
  }
#pragma GCC unroll 4
  for (int j = 0; j < 8; j += 2) {
    b[j] = hn::InterleaveLower(d, a[j], a[j + 1]);
    b[j + 1] = hn::InterleaveUpper(d, a[j], a[j + 1]);
  }
#pragma GCC unroll 2
  for (int j = 0; j < 8; j += 4) {
    a[j] = pairs_lower(b[j], b[j + 2]);
    a[j + 1] = pairs_upper(b[j], b[j + 2]);
    a[j + 2] = pairs_lower(b[j + 1], b[j + 3]);
    a[j + 3] = pairs_upper(b[j + 1], b[j + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    hn::StoreU(hn::ConcatLowerLower(d, a[i + 4], a[i]), d, out + i * out_stride);
    hn::StoreU(hn::ConcatUpperUpper(d, a[i + 4], a[i]), d, out + (i + 4) * out_stride);
  }
}

constexpr Index kSquare = 8;

#else

constexpr Index kSquare = 1;

HWY_INLINE void transpose_block(const float* in, Index, float scale, float* out, Index) {
  *out = scale * *in;
}

#endif

// Fills one panel: panel[i, j] = scale in[j, i] for j < width, zero in the other columns.
void transpose_panel(const float* in, Index in_stride, Index width, Index rows, float scale,
                     float* panel) {
  constexpr Index kWidth = PackedMatrix::kPanel;
  if (width < kWidth) std::fill_n(panel, rows * kWidth, 0.0f);
  const Index whole_width = width / kSquare * kSquare, whole_rows = rows / kSquare * kSquare;
  // Rows of `in` may be a power of two apart, in which case few of them fit in the cache together.
  for (Index j = 0; j < whole_width; j += kSquare) {
    for (Index i = 0; i < whole_rows; i += kSquare) {
      transpose_block(in + j * in_stride + i, in_stride, scale, panel + i * kWidth + j, kWidth);
    }
  }
  for (Index j = 0; j < width; ++j) {
    for (Index i = j < whole_width ? whole_rows : 0; i < rows; ++i) {
      panel[i * kWidth + j] = scale * in[j * in_stride + i];
    }
  }
}

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(transpose_panel);

namespace {

// Rows are read in strips, which stay in the cache while they are copied to the panels.
constexpr Index kRowsAtATime = 16;

}  // namespace

void PackedMatrix::resize(Index rows, Index cols) {
  rows_ = rows;
  cols_ = cols;
  data_.resize(static_cast<std::size_t>(panels() * rows * kPanel));
}

void PackedMatrix::put_rows(MatrixView<const float> b, Index first) {
  for (Index p = 0; p < panels(); ++p) {
    float* out = data_.data() + (p * rows_ + first) * kPanel;
    const Index width = std::min(kPanel, cols_ - p * kPanel);
    for (Index i = 0; i < b.rows(); ++i, out += kPanel) {
      std::copy_n(b.data() + i * b.stride() + p * kPanel, width, out);
      std::fill(out + width, out + kPanel, 0.0f);
    }
  }
}

void PackedMatrix::assign_rows(MatrixView<const float> b) {
  resize(b.rows(), b.cols());
  for (Index i = 0; i < rows_; i += kRowsAtATime) {
    put_rows(b.block(i, std::min(kRowsAtATime, rows_ - i), 0, cols_), i);
  }
}

void PackedMatrix::assign_rows(MatrixView<const std::uint16_t> b, HalfType type) {
  resize(b.rows(), b.cols());
  Matrix<float> wide(std::min(kRowsAtATime, rows_), cols_);
  for (Index i = 0; i < rows_; i += kRowsAtATime) {
    const Index some = std::min(kRowsAtATime, rows_ - i);
    for (Index r = 0; r < some; ++r) widen(b.row(i + r), type, wide.row(r));
    put_rows(wide.view().block(0, some, 0, cols_), i);
  }
}

void PackedMatrix::assign_transposed(MatrixView<const float> bt, float scale) {
  resize(bt.cols(), bt.rows());
  for (Index p = 0; p < panels(); ++p) {
    const Index width = std::min(kPanel, cols_ - p * kPanel);
    put_panel(bt.block(p * kPanel, width, 0, rows_), p, scale);
  }
}

void PackedMatrix::put_panel(MatrixView<const float> bt, Index panel, float scale) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(transpose_panel)
  (bt.data(), bt.stride(), bt.rows(), rows_, scale, data_.data() + panel * rows_ * kPanel);
}

void PackedMatrix::assign_transposed(MatrixView<const std::uint16_t> bt, HalfType type) {
  resize(bt.cols(), bt.rows());
  Matrix<float> wide(std::min(kPanel, cols_), rows_);
  for (Index p = 0; p < panels(); ++p) {
    const Index width = std::min(kPanel, cols_ - p * kPanel);
    for (Index j = 0; j < width; ++j) widen(bt.row(p * kPanel + j), type, wide.row(j));
    put_panel(wide.view().block(0, width, 0, rows_), p);
  }
}

PackedMatrix PackedMatrix::pack_rows(MatrixView<const float> b) {
  PackedMatrix packed;
  packed.assign_rows(b);
  return packed;
}

PackedMatrix PackedMatrix::pack_rows(MatrixView<const std::uint16_t> b, HalfType type) {
  PackedMatrix packed;
  packed.assign_rows(b, type);
  return packed;
}

PackedMatrix PackedMatrix::pack_transposed(MatrixView<const float> bt) {
  PackedMatrix packed;
  packed.assign_transposed(bt);
  return packed;
}

PackedMatrix PackedMatrix::pack_transposed(MatrixView<const std::uint16_t> bt, HalfType type) {
  PackedMatrix packed;
  packed.assign_transposed(bt, type);
  return packed;
}

}  // namespace headgauge
#endif
