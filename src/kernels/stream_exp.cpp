#include "kernels/stream_exp.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
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

#if HEADGAUGE_PLAIN

float stream_row(float* row, std::size_t n, float largest, MatrixView<const float> columns,
                 float* sums) {
  float top = largest;
  for (std::size_t j = 0; j < n; ++j) top = std::max(top, row[j]);
  std::fill_n(sums, columns.rows() + 1, 0.0f);
  for (std::size_t j = 0; j < n; ++j) {
    row[j] = exp_of(row[j] - top);
    sums[0] += row[j];
    for (Index k = 0; k < columns.rows(); ++k) {
      sums[k + 1] += row[j] * columns(k, static_cast<Index>(j));
    }
  }
  return top;
}

#else

float largest_of(const float* row, std::size_t n, float largest) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V top0 = hn::Set(d, largest), top1 = top0, top2 = top0, top3 = top0;
  std::size_t j = 0;
  for (; j + 4 * lanes <= n; j += 4 * lanes) {
    top0 = hn::Max(top0, hn::LoadU(d, row + j));
    top1 = hn::Max(top1, hn::LoadU(d, row + j + lanes));
    top2 = hn::Max(top2, hn::LoadU(d, row + j + 2 * lanes));
    top3 = hn::Max(top3, hn::LoadU(d, row + j + 3 * lanes));
  }
  for (; j + lanes <= n; j += lanes) top0 = hn::Max(top0, hn::LoadU(d, row + j));
  if (j < n) top1 = hn::Max(top1, load_first(row + j, n - j, largest));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(top0, top1), hn::Max(top2, top3))));
}

template <int kColumns>
void exp_and_sums(float* HWY_RESTRICT row, std::size_t n, float shift, const float* columns,
                  Index stride, float* sums) {
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
    const float none = -std::numeric_limits<float>::infinity();
    const V e = exp_of<true>(hn::Sub(load_first(row + j, n - j, none), by));
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

float stream_row(float* row, std::size_t n, float largest, MatrixView<const float> columns,
                 float* sums) {
  const float top = largest_of(row, n, largest);
  switch (columns.rows()) {
    case 0:
      exp_and_sums<0>(row, n, top, nullptr, 0, sums);
      break;
    case 1:
      exp_and_sums<1>(row, n, top, columns.data(), columns.stride(), sums);
      break;
    case 2:
      exp_and_sums<2>(row, n, top, columns.data(), columns.stride(), sums);
      break;
    case 3:
      exp_and_sums<3>(row, n, top, columns.data(), columns.stride(), sums);
      break;
    default:
      exp_and_sums<4>(row, n, top, columns.data(), columns.stride(), sums);
  }
  return top;
}

#endif  // HEADGAUGE_PLAIN

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(stream_row);

float stream_exp(std::span<float> scores, float largest, MatrixView<const float> columns,
                 std::span<float> sums) {
  assert(!scores.empty());
  assert(columns.rows() <= kMostStreamColumns);
  assert(columns.rows() == 0 || columns.cols() >= std::ssize(scores));
  assert(std::ssize(sums) > columns.rows());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(stream_row)(scores.data(), scores.size(), largest, columns,
                                          sums.data());
}

}  // namespace headgauge
#endif
