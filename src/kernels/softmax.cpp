#include "kernels/softmax.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#ifndef HEADGAUGE_SOFTMAX_SUMS
#define HEADGAUGE_SOFTMAX_SUMS
namespace headgauge {

// Sums over a row of e_j = exp(x_j), x_j = c (l_j - max l) <= 0. Entries with e = 1 are counted
// apart, so that the sums of the others keep their digits in a row where one key takes nearly all.
struct ExpSums {
  double ones = 0;    // entries with e = 1; the sums of powers leave them out
  double first = 0;   // sum e
  double square = 0;  // sum e^2
  double cube = 0;    // sum e^3
  double shift = 0;   // sum e x
  float min = 0;      // e of the smallest logit

  double total() const { return ones + first; }
};

// log(1 + rest) for finite rest >= 0, to 7e-16 of it: 1 + rest = 2^k m with m in
// [sqrt 1/2, sqrt 2), log m = 2 artanh((m - 1) / (m + 1)) by its series. Rows are short, and the
// call of std::log1p was a tenth of their time.
inline double log_one_plus(double rest) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const auto bits = std::bit_cast<std::uint64_t>(1.0 + rest);
  const auto k = static_cast<std::int64_t>(bits - kRootHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));
  const double r = k == 0 ? rest : m - 1.0;
  const double s = r / (2.0 + r);
  const double t = s * s, t2 = t * t, t4 = t2 * t2;
  const double low = (1.0 + t * (1.0 / 3)) + t2 * (1.0 / 5 + t * (1.0 / 7));
  const double middle = (1.0 / 9 + t * (1.0 / 11)) + t2 * (1.0 / 13 + t * (1.0 / 15));
  const double high = (1.0 / 17 + t * (1.0 / 19)) + t2 * (1.0 / 21);
  const double series = low + t4 * (middle + t4 * high);
  return static_cast<double>(k) * 0.693147180559945309417 + 2.0 * s * series;
}

// Of the weights e / total.
inline WeightSums weight_sums(const ExpSums& e, const Extremes& bounds, float c) {
  const double scale = 1.0 / e.total();
  // Z - 1, without the 1 of the maximum.
  const double log_z = log_one_plus((e.ones - 1.0) + e.first);
  WeightSums sums;
  sums.mass = 1.0;
  sums.abs_mass = 1.0;
  sums.entropy = log_z - e.shift * scale;
  sums.square = (e.ones + e.square) * scale * scale;
  sums.cube = (e.ones + e.cube) * scale * scale * scale;
  sums.rest_mass = e.first * scale;
  sums.rest_square = e.square * scale * scale;
  sums.rest_cube = e.cube * scale * scale * scale;
  sums.max_count = static_cast<Index>(e.ones);
  sums.max = scale;
  sums.min = e.min * scale;
  sums.max_logit = bounds.max;
  sums.min_logit = bounds.min;
  // An infinite negative logit has weight 0, but its e x is NaN.
  sums.log_sum_exp = static_cast<double>(bounds.max) * c + log_z + 0.0 * e.shift;
  return sums;
}

}  // namespace headgauge
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/exp-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HEADGAUGE_PLAIN

Extremes find_extremes(const float* in, std::size_t n) {
  Extremes out{in[0], in[0]};
  for (std::size_t i = 1; i < n; ++i) {
    out.min = std::min(out.min, in[i]);
    out.max = std::max(out.max, in[i]);
  }
  return out;
}

ExpSums sum_exp(const float* in, std::size_t n, Extremes bounds, float scale, float* out) {
  ExpSums sums;
  for (std::size_t i = 0; i < n; ++i) {
    const float x = (in[i] - bounds.max) * scale;
    const float e = exp_of(x);
    if (out != nullptr) out[i] = e;
    const double w = e;
    sums.shift += w * x;
    if (w < 1) {
      sums.first += w;
      sums.square += w * w;
      sums.cube += w * w * w;
    } else {
      sums.ones += 1;
    }
  }
  sums.min = exp_of((bounds.min - bounds.max) * scale);
  return sums;
}

void scale_row(float* values, std::size_t n, float factor) {
  for (std::size_t i = 0; i < n; ++i) values[i] *= factor;
}

void exp_row(const float* in, std::size_t n, float shift, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = exp_of(in[i] - shift);
}

#else

// Four of each, since each waits for the one before.
struct RunningExtremes {
  HWY_INLINE explicit RunningExtremes(V any) {
    for (int v = 0; v < 4; ++v) low[v] = high[v] = any;
  }
  HWY_INLINE void add(int v, V x) {
    low[v] = hn::Min(low[v], x);
    high[v] = hn::Max(high[v], x);
  }
  HWY_INLINE void add_four(const float* in) {
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    add(0, hn::LoadU(d, in));
    add(1, hn::LoadU(d, in + lanes));
    add(2, hn::LoadU(d, in + 2 * lanes));
    add(3, hn::LoadU(d, in + 3 * lanes));
  }
  V low[4], high[4];
};

Extremes find_extremes(const float* in, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  RunningExtremes found(hn::Set(d, in[0]));
  if (n >= 4 * lanes) {
    for (std::size_t i = 0; i + 4 * lanes <= n; i += 4 * lanes) found.add_four(in + i);
    // The end of the row, some of it for the second time.
    found.add_four(in + n - 4 * lanes);
  } else {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const auto at = static_cast<std::size_t>(v);
      found.add(v, load_first(in + at * lanes, lanes_left(n, at), in[0]));
    }
  }
  const V low = hn::Min(hn::Min(found.low[0], found.low[1]), hn::Min(found.low[2], found.low[3]));
  const V high =
      hn::Max(hn::Max(found.high[0], found.high[1]), hn::Max(found.high[2], found.high[3]));
  return {hn::GetLane(hn::MinOfLanes(d, low)), hn::GetLane(hn::MaxOfLanes(d, high))};
}

using DD = hn::Repartition<double, D>;
using VD = hn::Vec<DD>;

// Squares and cubes of small weights would leave the normal numbers, where processors are a hundred
// times slower; on top of this they cannot.
constexpr float kTiny = 1e-37f;

// Sums in float64 lanes.
struct Totals {
  // Constructors are written out so that they belong to this target.
  HWY_INLINE Totals() { first = square = cube = shift = hn::Zero(DD()); }
  VD first, square, cube, shift;
};

HWY_INLINE VD add_halves(VD total, V v) {
  const DD dd;
  const hn::Half<D> dh;
  const VD low = hn::PromoteTo(dd, hn::LowerHalf(dh, v));
  return hn::Add(total, hn::Add(low, hn::PromoteTo(dd, hn::UpperHalf(dh, v))));
}

// Sums in float lanes, to be handed on after kBlock vectors at most: a lane then has added so few
// terms that its rounding is about 2e-7, and 2e-6 at the very worst.
constexpr std::size_t kBlock = 32;

struct BlockSums {
  HWY_INLINE BlockSums() {
    first = shift = hn::Zero(D());
    square = cube = hn::Set(D(), kTiny);
  }

  HWY_INLINE void add(V x, V e) {
    const D d;
    const auto below = hn::Lt(e, hn::Set(d, 1.0f));
#if HWY_TARGET == HWY_AVX3
    const V squared = hn::MulAdd(e, e, hn::Set(d, kTiny));
    first = V{_mm512_mask_add_ps(first.raw, below.raw, first.raw, e.raw)};
    square = V{_mm512_mask3_fmadd_ps(e.raw, e.raw, square.raw, below.raw)};
    cube = V{_mm512_mask3_fmadd_ps(squared.raw, e.raw, cube.raw, below.raw)};
#else
    const V rest = hn::IfThenElseZero(below, e);
    first = hn::Add(first, rest);
    square = hn::MulAdd(rest, rest, square);
    cube = hn::MulAdd(hn::MulAdd(rest, rest, hn::Set(d, kTiny)), rest, cube);
#endif
    shift = hn::MulAdd(e, x, shift);
    others += hn::CountTrue(d, below);
  }

  HWY_INLINE void add_to(Totals& totals) const {
    totals.first = add_halves(totals.first, first);
    totals.square = add_halves(totals.square, square);
    totals.cube = add_halves(totals.cube, cube);
    totals.shift = add_halves(totals.shift, shift);
  }

  V first, square, cube, shift;
  std::size_t others = 0;  // lanes with e < 1
};

template <bool kStore, bool kClip, bool kScale>
HWY_INLINE ExpSums sum_exp_of(const float* in, std::size_t n, Extremes bounds, float scale,
                              float* out) {
  const D d;
  const DD dd;
  const std::size_t lanes = hn::Lanes(d);
  const V shift = hn::Set(d, bounds.max), factor = hn::Set(d, scale);
  const auto fall = [&](V l) HWY_ATTR {
    const V x = hn::Sub(l, shift);
    return kScale ? hn::Mul(x, factor) : x;
  };
  Totals totals;
  std::size_t i = 0, others = 0, blocks = 0;
  do {
    BlockSums block;
    const std::size_t end = std::min(i + kBlock * lanes, n);
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      const V x = fall(hn::LoadU(d, in + i));
      const V y = fall(hn::LoadU(d, in + i + lanes));
      const V e = exp_of<kClip>(x), f = exp_of<kClip>(y);
      if constexpr (kStore) {
        hn::StoreU(e, d, out + i);
        hn::StoreU(f, d, out + i + lanes);
      }
      block.add(x, e);
      block.add(y, f);
    }
    if (end == n) {
      // At most two vectors, done without a branch: e = 0 in the lanes beyond the row.
      const std::size_t left = n - i, one = lanes_left(left, 0), two = lanes_left(left, 1);
      const V x = fall(load_first(in + i, one, bounds.max));
      const V y = fall(load_first(in + i + lanes, two, bounds.max));
      const V e = hn::IfThenElseZero(hn::FirstN(d, one), exp_of<kClip>(x));
      const V f = hn::IfThenElseZero(hn::FirstN(d, two), exp_of<kClip>(y));
      if constexpr (kStore) {
        store_first(e, out + i, one);
        store_first(f, out + i + lanes, two);
      }
      block.add(x, e);
      block.add(y, f);
      i += 2 * lanes;
    }
    block.add_to(totals);
    others += block.others;
    ++blocks;
  } while (i < n);
  // kTiny came in once a lane and block; the difference is exact.
  const double tiny = static_cast<double>(kTiny) * static_cast<double>(blocks * lanes);
  ExpSums sums;
  // i has run over whole vectors.
  sums.ones = static_cast<double>(i - others);
  sums.first = hn::GetLane(hn::SumOfLanes(dd, totals.first));
  sums.square = hn::GetLane(hn::SumOfLanes(dd, totals.square)) - tiny;
  sums.cube = hn::GetLane(hn::SumOfLanes(dd, totals.cube)) - tiny;
  sums.shift = hn::GetLane(hn::SumOfLanes(dd, totals.shift));
  sums.min = hn::GetLane(exp_of<true>(hn::Set(d, (bounds.min - bounds.max) * scale)));
  return sums;
}

template <bool kScale>
ExpSums sum_exp_at(const float* in, std::size_t n, Extremes bounds, float scale, float* out) {
  // Hardly any row needs clipping. NaN does, as it may hide the true extremes.
  const bool clip = !((bounds.min - bounds.max) * scale >= kLowest);
  if (out == nullptr) {
    return clip ? sum_exp_of<false, true, kScale>(in, n, bounds, scale, out)
                : sum_exp_of<false, false, kScale>(in, n, bounds, scale, out);
  }
  return clip ? sum_exp_of<true, true, kScale>(in, n, bounds, scale, out)
              : sum_exp_of<true, false, kScale>(in, n, bounds, scale, out);
}

ExpSums sum_exp(const float* in, std::size_t n, Extremes bounds, float scale, float* out) {
  return scale == 1.0f ? sum_exp_at<false>(in, n, bounds, scale, out)
                       : sum_exp_at<true>(in, n, bounds, scale, out);
}

void scale_row(float* values, std::size_t n, float factor) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    for (std::size_t v = 0; v < 4; ++v) {
      hn::StoreU(hn::Mul(hn::LoadU(d, values + i + v * lanes), by), d, values + i + v * lanes);
    }
  }
  const std::size_t left = n - i;
  for (std::size_t v = 0; v < 4; ++v) {
    const std::size_t some = lanes_left(left, v);
    float* at = values + i + v * lanes;
    store_first(hn::Mul(load_first(at, some, 0.0f), by), at, some);
  }
}

void exp_row(const float* in, std::size_t n, float shift, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, shift);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(exp_of<true>(hn::Sub(hn::LoadU(d, in + i), by)), d, out + i);
  }
  if (i < n) {
    store_first(exp_of<true>(hn::Sub(load_first(in + i, n - i, shift), by)), out + i, n - i);
  }
}

#endif  // HEADGAUGE_PLAIN

// The three passes in one call, so that the end of one overlaps with the beginning of the next.
void softmax_of(const float* in, std::size_t n, float scale, float* out, WeightSums* sums) {
  const Extremes bounds = find_extremes(in, n);
  const ExpSums e = sum_exp(in, n, bounds, scale, out);
  if (out != nullptr) scale_row(out, n, static_cast<float>(1.0 / e.total()));
  *sums = weight_sums(e, bounds, scale);
}

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(find_extremes);
HWY_EXPORT(softmax_of);
HWY_EXPORT(exp_row);

WeightSums softmax_row(std::span<const float> logits, std::span<float> weights, float scale) {
  assert(scale >= 0);
  assert(!logits.empty() && (weights.empty() || weights.size() == logits.size()));
  ensure_simd_level();
  WeightSums sums;
  HWY_DYNAMIC_DISPATCH(softmax_of)
  (logits.data(), logits.size(), scale, weights.empty() ? nullptr : weights.data(), &sums);
  return sums;
}

void exp_shifted(std::span<const float> in, float shift, std::span<float> out) {
  assert(in.size() == out.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(exp_row)(in.data(), in.size(), shift, out.data());
}

Extremes extremes(std::span<const float> values) {
  assert(!values.empty());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(find_extremes)(values.data(), values.size());
}

}  // namespace headgauge
#endif
