#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/gemm.hpp"

namespace headgauge {
namespace {

constexpr Index kPanel = PackedMatrix::kPanel;

}  // namespace

void PackedMatrix::resize(Index rows, Index cols) {
  rows_ = rows;
  cols_ = cols;
  data_.resize(static_cast<std::size_t>(panels() * rows * kPanel));
}

void PackedMatrix::assign_rows(MatrixView<const float> b) {
  resize(b.rows(), b.cols());
  for (Index p = 0; p < panels(); ++p) {
    float* out = data_.data() + p * rows_ * kPanel;
    const Index width = std::min(kPanel, cols_ - p * kPanel);
    for (Index i = 0; i < rows_; ++i, out += kPanel) {
      const float* in = b.data() + i * b.stride() + p * kPanel;
      std::copy_n(in, width, out);
      std::fill(out + width, out + kPanel, 0.0f);
    }
  }
}

void PackedMatrix::assign_rows(MatrixView<const std::uint16_t> b, HalfType type) {
  resize(b.rows(), b.cols());
  AlignedVector<float> row(static_cast<std::size_t>(cols_));
  for (Index i = 0; i < rows_; ++i) {
    widen(b.row(i), type, row);
    for (Index p = 0; p < panels(); ++p) {
      float* out = data_.data() + (p * rows_ + i) * kPanel;
      const Index width = std::min(kPanel, cols_ - p * kPanel);
      std::copy_n(row.data() + p * kPanel, width, out);
      std::fill(out + width, out + kPanel, 0.0f);
    }
  }
}

void PackedMatrix::assign_transposed(MatrixView<const float> bt) {
  resize(bt.cols(), bt.rows());
  for (Index p = 0; p < panels(); ++p) {
    float* out = data_.data() + p * rows_ * kPanel;
    const Index width = std::min(kPanel, cols_ - p * kPanel);
    if (width < kPanel) std::fill_n(out, rows_ * kPanel, 0.0f);
    for (Index j = 0; j < width; ++j) {
      const float* in = bt.data() + (p * kPanel + j) * bt.stride();
      for (Index i = 0; i < rows_; ++i) out[i * kPanel + j] = in[i];
    }
  }
}

void PackedMatrix::assign_transposed(MatrixView<const std::uint16_t> bt, HalfType type) {
  resize(bt.cols(), bt.rows());
  AlignedVector<float> row(static_cast<std::size_t>(rows_));
  for (Index p = 0; p < panels(); ++p) {
    float* out = data_.data() + p * rows_ * kPanel;
    const Index width = std::min(kPanel, cols_ - p * kPanel);
    if (width < kPanel) std::fill_n(out, rows_ * kPanel, 0.0f);
    for (Index j = 0; j < width; ++j) {
      widen(bt.row(p * kPanel + j), type, row);
      for (Index i = 0; i < rows_; ++i) out[i * kPanel + j] = row[static_cast<std::size_t>(i)];
    }
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
