#include "kernels/stream_exp.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stream_exp.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/exp-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr float kNone = -std::numeric_limits<float>::infinity();

// The number subtracted from the scores of a row: 0 if all scores are -inf.
HWY_INLINE float shift_of(float top) {
  return top == kNone ? 0.0f : top;
}

// The number of rows whose largest scores are found together; one at a time, each would wait for
// its reduction.
constexpr int kRowsAtOnce = 4;

template <int kRows>
HWY_INLINE void raise_largest(const float* HWY_RESTRICT rows, Index stride, std::size_t n,
                              float* largest) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V top[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) top[r] = hn::Set(d, largest[r]);
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) top[r] = hn::Max(top[r], hn::LoadU(d, rows + r * stride + j));
  }
  if (j < n) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      top[r] = hn::Max(top[r], load_first(rows + r * stride + j, n - j, kNone));
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) largest[r] = hn::GetLane(hn::MaxOfLanes(d, top[r]));
}

template <int kColumns>
HWY_INLINE void exp_and_sums(float* HWY_RESTRICT row, std::size_t n, float shift,
                             const float* columns, Index stride, float* sums) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, shift);
  V sum = hn::Zero(d);
  V product[kColumns + 1];
#pragma GCC unroll 4
  for (int k = 0; k < kColumns; ++k) product[k] = hn::Zero(d);
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    const V e = exp_of<true>(hn::Sub(hn::LoadU(d, row + j), by));
    hn::StoreU(e, d, row + j);
    sum = hn::Add(sum, e);
#pragma GCC unroll 4
    for (int k = 0; k < kColumns; ++k) {
      product[k] = hn::MulAdd(e, hn::LoadU(d, columns + k * stride + j), product[k]);
    }
  }
  if (j < n) {
    const V e = exp_of<true>(hn::Sub(load_first(row + j, n - j, kNone), by));
    store_first(e, row + j, n - j);
    sum = hn::Add(sum, e);
#pragma GCC unroll 4
    for (int k = 0; k < kColumns; ++k) {
      product[k] = hn::MulAdd(e, load_first(columns + k * stride + j, n - j, 0.0f), product[k]);
    }
  }
  sums[0] = hn::GetLane(hn::SumOfLanes(d, sum));
#pragma GCC unroll 4
  for (int k = 0; k < kColumns; ++k) sums[k + 1] = hn::GetLane(hn::SumOfLanes(d, product[k]));
}

template <int kColumns>
void stream_rows_of(MatrixView<float> scores, std::span<float> largest,
                    MatrixView<const float> columns, MatrixView<float> sums) {
  const auto n = static_cast<std::size_t>(scores.cols());
  const Index stride = scores.stride();
  for (Index first = 0; first < scores.rows(); first += kRowsAtOnce) {
    const Index count = std::min<Index>(kRowsAtOnce, scores.rows() - first);
    float* rows = scores.data() + first * stride;
    float* tops = largest.data() + first;
    if (count == kRowsAtOnce) {
      raise_largest<kRowsAtOnce>(rows, stride, n, tops);
    } else {
      for (Index r = 0; r < count; ++r) raise_largest<1>(rows + r * stride, stride, n, tops + r);
    }
    for (Index r = 0; r < count; ++r) {
      exp_and_sums<kColumns>(rows + r * stride, n, shift_of(tops[r]), columns.data(),
                             columns.stride(), sums.data() + (first + r) * sums.stride());
    }
  }
}

void stream_rows(MatrixView<float> scores, std::span<float> largest,
                 MatrixView<const float> columns, MatrixView<float> sums) {
  switch (columns.rows()) {
    case 0:
      return stream_rows_of<0>(scores, largest, columns, sums);
    case 1:
      return stream_rows_of<1>(scores, largest, columns, sums);
    case 2:
      return stream_rows_of<2>(scores, largest, columns, sums);
    case 3:
      return stream_rows_of<3>(scores, largest, columns, sums);
    default:
      return stream_rows_of<4>(scores, largest, columns, sums);
  }
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(stream_rows);

void stream_exp(MatrixView<float> scores, std::span<float> largest, MatrixView<const float> columns,
                MatrixView<float> sums) {
  assert(scores.cols() > 0 && std::ssize(largest) >= scores.rows());
  assert(columns.rows() <= kMostStreamColumns);
  assert(columns.rows() == 0 || columns.cols() >= scores.cols());
  assert(sums.rows() >= scores.rows() && sums.cols() > columns.rows());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(stream_rows)(scores, largest, columns, sums);
}

}  // namespace headgauge
#endif
