#include "kernels/gemm.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#ifndef HEADGAUGE_GEMM_PRODUCT
#define HEADGAUGE_GEMM_PRODUCT
namespace headgauge {

// The arguments of one call, with the defaults of GemmOptions filled in. c += if `add` is set.
struct Product {
  MatrixView<const float> a;
  const PackedMatrix* b;
  MatrixView<float> c;
  const float* bias;
  bool add;
  Index col_begin;
  Index col_end;
  Index b_row;
};

}  // namespace headgauge
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr Index kPanel = PackedMatrix::kPanel;

// Sums run over kDepth rows of B at a time, so that a block of a panel stays in the L1 cache. The
// blocks are added to c in order.
constexpr Index kDepth = 256;
// Number of floats in the rows of A that stay in the L2 cache while all panels are processed.
constexpr Index kBlockOfA = 256 * 1024;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 8;
constexpr int kVectors = 3;
#elif HWY_TARGET == HWY_AVX2
constexpr int kRows = 6;
constexpr int kVectors = 2;
#else
constexpr int kRows = 4;
constexpr int kVectors = 3;
#endif
// The panels of B are not contiguous, so a strip of kVectors vectors must lie within one.
static_assert(kPanel % (kVectors * static_cast<Index>(hn::MaxLanes(D()))) == 0);

// Access only lanes [lo, hi) of a vector; the others must not be read or written.
HWY_INLINE V load_lanes(const float* from, Index lo, Index hi) {
  const D d;
#if HEADGAUGE_AVX
  const auto mask = hn::AndNot(hn::FirstN(d, static_cast<std::size_t>(lo)),
                               hn::FirstN(d, static_cast<std::size_t>(hi)));
  return hn::MaskedLoad(mask, d, from);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)] = {};
  for (Index i = lo; i < hi; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

HWY_INLINE void store_lanes(V v, float* to, Index lo, Index hi) {
  const D d;
#if HEADGAUGE_AVX
  const auto mask = hn::AndNot(hn::FirstN(d, static_cast<std::size_t>(lo)),
                               hn::FirstN(d, static_cast<std::size_t>(hi)));
  hn::BlendedStore(v, mask, d, to);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, lanes);
  for (Index i = lo; i < hi; ++i) to[i] = lanes[i];
#endif
}

// Computes R rows of a times C vectors of columns of a panel, `depth` deep, in registers: c[0..R,
// 0..C lanes] = sum (+ bias) (+ c). Writes columns [lo, hi) of the block. With kFetch, prefetches
// depth * 16 floats from `ahead` on. All loops over `sum` are unrolled, because a loop would put
// `sum` in memory.
template <int R, int C, bool kFetch>
HWY_INLINE void multiply_block(const float* HWY_RESTRICT a, Index a_stride,
                               const float* HWY_RESTRICT b, Index depth, float* HWY_RESTRICT c,
                               Index c_stride, const float* bias, bool add, Index lo, Index hi,
                               const float* ahead) {
  const D d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  V sum[R][C];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < C; ++v) sum[r][v] = hn::Zero(d);
  }
  const auto step = [&](Index k, const float* HWY_RESTRICT row) HWY_ATTR {
    if constexpr (kFetch) __builtin_prefetch(ahead + k * 16, 0, 2);
    V col[C];
#pragma GCC unroll 4
    for (int v = 0; v < C; ++v) col[v] = hn::Load(d, row + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V x = hn::Set(d, a[r * a_stride + k]);
#pragma GCC unroll 4
      for (int v = 0; v < C; ++v) sum[r][v] = hn::MulAdd(x, col[v], sum[r][v]);
    }
  };
  // Unrolled by four, because loop counting takes issue slots from the multiply-adds.
  Index k = 0;
  for (; k + 4 <= depth; k += 4, b += 4 * kPanel) {
    step(k, b);
    step(k + 1, b + kPanel);
    step(k + 2, b + 2 * kPanel);
    step(k + 3, b + 3 * kPanel);
  }
  for (; k < depth; ++k, b += kPanel) step(k, b);

  const bool whole = lo <= 0 && hi >= C * lanes;
#pragma GCC unroll 4
  for (int v = 0; v < C; ++v) {
    const Index first = std::clamp<Index>(lo - v * lanes, 0, lanes);
    const Index last = std::clamp<Index>(hi - v * lanes, first, lanes);
    const auto load = [&](const float* from) HWY_ATTR {
      return whole ? hn::LoadU(d, from) : load_lanes(from, first, last);
    };
    const V start = bias == nullptr ? hn::Zero(d) : load(bias + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      float* to = c + r * c_stride + v * lanes;
      V out = sum[r][v];
      if (bias != nullptr) out = hn::Add(out, start);
      if (add) out = hn::Add(load(to), out);
      if (whole) {
        hn::StoreU(out, d, to);
      } else {
        store_lanes(out, to, first, last);
      }
    }
  }
}

template <int R, int C>
HWY_NOINLINE void multiply_rows(const float* a, Index a_stride, const float* b, Index depth,
                                float* c, Index c_stride, const float* bias, bool add, Index lo,
                                Index hi, Index rows) {
  if constexpr (R == kRows) {
    // The next block of B follows this one in memory. The first three row blocks each prefetch a
    // third of it during their arithmetic: +20 % if B comes from memory, -3 % if B is already in
    // the cache, as in score tiles.
    if (depth > 128) {
      const float* ahead = b + depth * kPanel;
      for (int third = 0; third < 3 && rows >= R; ++third, rows -= R) {
        multiply_block<R, C, true>(a, a_stride, b, depth, c, c_stride, bias, add, lo, hi,
                                   ahead + third * depth * 16);
        a += R * a_stride;
        c += R * c_stride;
      }
    }
  }
  for (; rows >= R; rows -= R) {
    multiply_block<R, C, false>(a, a_stride, b, depth, c, c_stride, bias, add, lo, hi, nullptr);
    a += R * a_stride;
    c += R * c_stride;
  }
  if constexpr (R > 1) {
    if (rows > 0) {
      multiply_rows<R - 1, C>(a, a_stride, b, depth, c, c_stride, bias, add, lo, hi, rows);
    }
  }
}

// Computes one strip of at most C vectors of columns, starting at column `col` of the result.
template <int C>
void multiply_strip(const Product& t, Index row, Index rows, Index k, Index depth, Index col,
                    Index vectors) {
  if constexpr (C > 1) {
    if (vectors < C) return multiply_strip<C - 1>(t, row, rows, k, depth, col, vectors);
  }
  const Index lanes = static_cast<Index>(hn::Lanes(D()));
  const Index p = col / kPanel;
  const float* b = t.b->panel(p) + (t.b_row + k) * kPanel + (col - p * kPanel);
  const float* bias = t.bias == nullptr || k > 0 ? nullptr : t.bias + col;
  const Index lo = std::max<Index>(t.col_begin - col, 0);
  const Index hi = std::min(t.col_end - col, C * lanes);
  multiply_rows<kRows, C>(t.a.data() + row * t.a.stride() + k, t.a.stride(), b, depth,
                          t.c.data() + row * t.c.stride() + col, t.c.stride(), bias, t.add || k > 0,
                          lo, hi, rows);
}

void multiply(const Product& t) {
  const Index lanes = static_cast<Index>(hn::Lanes(D()));
  const Index strip = kVectors * lanes;
  const Index inner = t.a.cols();
  const Index block = std::max<Index>(64, kBlockOfA / std::max<Index>(inner, 1) / kRows * kRows);
  for (Index row = 0; row < t.a.rows(); row += block) {
    const Index rows = std::min(block, t.a.rows() - row);
    for (Index begin = t.col_begin / strip * strip; begin < t.col_end; begin += strip) {
      // Skips vectors of columns on either side of [col_begin, col_end).
      const Index first = std::max(begin, t.col_begin / lanes * lanes);
      const Index last = std::min(begin + strip, t.col_end);
      const Index vectors = (last - first + lanes - 1) / lanes;
      Index k = 0;
      do {
        const Index depth = std::min(kDepth, inner - k);
        multiply_strip<kVectors>(t, row, rows, k, depth, first, vectors);
        k += kDepth;
      } while (k < inner);
    }
  }
}

float dot_product(const float* HWY_RESTRICT x, const float* HWY_RESTRICT y, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, x + i + lanes), hn::LoadU(d, y + i + lanes), sum1);
    sum2 = hn::MulAdd(hn::LoadU(d, x + i + 2 * lanes), hn::LoadU(d, y + i + 2 * lanes), sum2);
    sum3 = hn::MulAdd(hn::LoadU(d, x + i + 3 * lanes), hn::LoadU(d, y + i + 3 * lanes), sum3);
  }
  for (; i + lanes <= n; i += lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), sum0);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(multiply);
HWY_EXPORT(dot_product);

void gemm(MatrixView<const float> a, const PackedMatrix& b, MatrixView<float> c,
          const GemmOptions& options) {
  const Index end = options.col_end < 0 ? b.cols() : options.col_end;
  assert(options.b_row >= 0 && options.b_row + a.cols() <= b.rows());
  assert(options.col_begin >= 0 && end <= b.cols() && end <= c.cols() && a.rows() <= c.rows());
  assert(options.bias.empty() || std::ssize(options.bias) >= end);
  if (a.rows() == 0 || end <= options.col_begin) return;
  ensure_simd_level();
  const float* bias = options.bias.empty() ? nullptr : options.bias.data();
  HWY_DYNAMIC_DISPATCH(multiply)
  ({a, &b, c, bias, options.accumulate, options.col_begin, end, options.b_row});
}

float dot(std::span<const float> x, std::span<const float> y) {
  assert(x.size() == y.size());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(dot_product)(x.data(), y.data(), x.size());
}

}  // namespace headgauge
#endif
