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

// Sums over a row of e_j = exp(x_j), x_j = l_j - max l <= 0. Entries with e = 1 are counted apart,
// so that the sums of the others keep their digits in a row where one key takes nearly all.
struct ExpSums {
  double ones = 0;    // entries with e = 1; the sums of powers leave them out
  double first = 0;   // sum e
  double square = 0;  // sum e^2
  double cube = 0;    // sum e^3
  double shift = 0;   // sum e x
  float min = 0;      // e of the smallest logit
};

}  // namespace headgauge
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// exp(x) = 2^k 2^f with k = round(x log2 e), |f| <= 1/2, and 2^f by a polynomial of degree 5 that
// is 1 at 0 (so that the largest weight of a row is exact). Minimax in relative error: 4.4e-7.
constexpr float kLog2E = 1.44269504088896341f;
// Adding it rounds to an integer, which then stands in the low bits.
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
// exp of less is taken to be 0; above it all arithmetic stays among normal numbers.
constexpr float kLowest = -87.0f;
constexpr float kPoly1 = 0.693142831f;
constexpr float kPoly2 = 0.240223512f;
constexpr float kPoly3 = 0.0555740036f;
constexpr float kPoly4 = 0.00966628268f;
constexpr float kPoly5 = 0.00111255073f;

#if HEADGAUGE_PLAIN

float exp_of(float x) {
  const float rounded = x * kLog2E + kRound;
  const float k = rounded - kRound;
  const float f = x * kLog2E - k;
  float p = kPoly5;
  p = p * f + kPoly4;
  p = p * f + kPoly3;
  p = p * f + kPoly2;
  p = p * f + kPoly1;
  p = p * f + 1.0f;
  const float e = std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) +
                                       (std::bit_cast<std::uint32_t>(rounded) << 23));
  return x < kLowest ? 0.0f : e;
}

Extremes find_extremes(const float* in, std::size_t n) {
  Extremes out{in[0], in[0]};
  for (std::size_t i = 1; i < n; ++i) {
    out.min = std::min(out.min, in[i]);
    out.max = std::max(out.max, in[i]);
  }
  return out;
}

ExpSums sum_exp(const float* in, std::size_t n, Extremes bounds, float* out) {
  ExpSums sums;
  for (std::size_t i = 0; i < n; ++i) {
    const float x = in[i] - bounds.max;
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
  sums.min = exp_of(bounds.min - bounds.max);
  return sums;
}

void scale_row(float* values, std::size_t n, float factor) {
  for (std::size_t i = 0; i < n; ++i) values[i] *= factor;
}

void exp_row(const float* in, std::size_t n, float shift, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = exp_of(in[i] - shift);
}

std::size_t find_non_finite(const float* in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(in[i])) return i;
  }
  return n;
}

#else

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V exp_of(V x) {
  const D d;
  const V log2e = hn::Set(d, kLog2E);
  const V round = hn::Set(d, kRound);
  const V rounded = hn::MulAdd(x, log2e, round);
  const V k = hn::Sub(rounded, round);
  const V f = hn::MulSub(x, log2e, k);
  V p = hn::MulAdd(hn::Set(d, kPoly5), f, hn::Set(d, kPoly4));
  p = hn::MulAdd(p, f, hn::Set(d, kPoly3));
  p = hn::MulAdd(p, f, hn::Set(d, kPoly2));
  p = hn::MulAdd(p, f, hn::Set(d, kPoly1));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
#if HWY_TARGET == HWY_AVX3
  const auto low = hn::Lt(x, hn::Set(d, kLowest));
  return V{_mm512_maskz_scalef_ps(hn::Not(low).raw, p.raw, k.raw)};
#else
  const hn::RebindToUnsigned<D> du;
  const auto power = hn::ShiftLeft<23>(hn::BitCast(du, rounded));
  const V e = hn::BitCast(d, hn::Add(hn::BitCast(du, p), power));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, kLowest)), e);
#endif
}

// The first n lanes of `from`, and `other` in the rest; nothing else is read.
HWY_INLINE V load_first(const float* from, std::size_t n, float other) {
  const D d;
#if HWY_ARCH_X86
  const auto mask = hn::FirstN(d, n);
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), hn::Set(d, other));
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(d, other), d, lanes);
  for (std::size_t i = 0; i < n; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

// Writes the first n lanes only.
HWY_INLINE void store_first(V v, float* to, std::size_t n) {
  const D d;
#if HWY_ARCH_X86
  hn::BlendedStore(v, hn::FirstN(d, n), d, to);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < n; ++i) to[i] = lanes[i];
#endif
}

Extremes find_extremes(const float* in, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V low = hn::Set(d, in[0]);
  V high = low, low2 = low, high2 = low;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V x = hn::LoadU(d, in + i), y = hn::LoadU(d, in + i + lanes);
    low = hn::Min(low, x);
    high = hn::Max(high, x);
    low2 = hn::Min(low2, y);
    high2 = hn::Max(high2, y);
  }
  if (i + lanes <= n) {
    const V x = hn::LoadU(d, in + i);
    low = hn::Min(low, x);
    high = hn::Max(high, x);
    i += lanes;
  }
  const V rest = load_first(in + i, n - i, in[0]);
  low = hn::Min(hn::Min(low, low2), rest);
  high = hn::Max(hn::Max(high, high2), rest);
  return {hn::GetLane(hn::MinOfLanes(d, low)), hn::GetLane(hn::MaxOfLanes(d, high))};
}

// Sums in float lanes, handed on to float64 lanes every kBlock vectors: a lane adds so few terms
// that its rounding stays below 1e-6.
class LaneSums {
 public:
  HWY_INLINE LaneSums() {
    const DD dd;
    clear();
    for (VD& total : totals_) total = hn::Zero(dd);
  }

  HWY_INLINE void add(V x, V e) {
    const V one = hn::Set(D(), 1.0f);
    const auto below = hn::Lt(e, one);
    const V rest = hn::IfThenElseZero(below, e);
    ones_ = hn::Add(ones_, hn::IfThenZeroElse(below, one));
    first_ = hn::Add(first_, rest);
    square_ = hn::MulAdd(rest, rest, square_);
    cube_ = hn::MulAdd(hn::MulAdd(rest, rest, tiny()), rest, cube_);
    shift_ = hn::MulAdd(e, x, shift_);
  }

  // After at most kBlock calls of add().
  HWY_INLINE void flush() {
    // tiny() came in once a lane.
    totals_[0] = hn::Add(totals_[0], halves(ones_));
    totals_[1] = hn::Add(totals_[1], halves(first_));
    totals_[2] = hn::Add(totals_[2], halves(hn::Sub(square_, tiny())));
    totals_[3] = hn::Add(totals_[3], halves(hn::Sub(cube_, tiny())));
    totals_[4] = hn::Add(totals_[4], halves(shift_));
    clear();
  }

  HWY_INLINE ExpSums sums() const {
    return {total(totals_[0]), total(totals_[1]), total(totals_[2]),
            total(totals_[3]), total(totals_[4]), 0.0f};
  }

 private:
  using DD = hn::Repartition<double, D>;
  using VD = hn::Vec<DD>;

  // Squares and cubes of small weights would leave the normal numbers, where processors are a
  // hundred times slower; on top of this they cannot.
  static HWY_INLINE V tiny() { return hn::Set(D(), 1e-37f); }

  HWY_INLINE void clear() {
    ones_ = first_ = shift_ = hn::Zero(D());
    square_ = cube_ = tiny();
  }

  static HWY_INLINE VD halves(V v) {
    const DD dd;
    const hn::Half<D> dh;
    return hn::Add(hn::PromoteTo(dd, hn::LowerHalf(dh, v)),
                   hn::PromoteTo(dd, hn::UpperHalf(dh, v)));
  }

  static HWY_INLINE double total(VD v) { return hn::GetLane(hn::SumOfLanes(DD(), v)); }

  V ones_, first_, square_, cube_, shift_;
  VD totals_[5];
};

constexpr std::size_t kBlock = 16;  // vectors

template <bool kStore>
HWY_INLINE ExpSums sum_exp_of(const float* in, std::size_t n, Extremes bounds, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V shift = hn::Set(d, bounds.max);
  LaneSums running;
  std::size_t i = 0;
  while (i + lanes <= n) {
    const std::size_t end = std::min(i + kBlock * lanes, n / lanes * lanes);
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      const V x = hn::Sub(hn::LoadU(d, in + i), shift);
      const V y = hn::Sub(hn::LoadU(d, in + i + lanes), shift);
      const V e = exp_of(x), f = exp_of(y);
      if constexpr (kStore) {
        hn::StoreU(e, d, out + i);
        hn::StoreU(f, d, out + i + lanes);
      }
      running.add(x, e);
      running.add(y, f);
    }
    if (i < end) {
      const V x = hn::Sub(hn::LoadU(d, in + i), shift);
      const V e = exp_of(x);
      if constexpr (kStore) hn::StoreU(e, d, out + i);
      running.add(x, e);
      i += lanes;
    }
    running.flush();
  }
  if (i < n) {
    // The lanes beyond the row are given e = 0.
    const V low = hn::Set(d, 2 * kLowest);
    const V x =
        hn::IfThenElse(hn::FirstN(d, n - i), hn::Sub(load_first(in + i, n - i, 0.0f), shift), low);
    const V e = exp_of(x);
    if constexpr (kStore) store_first(e, out + i, n - i);
    running.add(x, e);
    running.flush();
  }
  ExpSums sums = running.sums();
  sums.min = hn::GetLane(exp_of(hn::Set(d, bounds.min - bounds.max)));
  return sums;
}

ExpSums sum_exp(const float* in, std::size_t n, Extremes bounds, float* out) {
  return out == nullptr ? sum_exp_of<false>(in, n, bounds, out)
                        : sum_exp_of<true>(in, n, bounds, out);
}

void scale_row(float* values, std::size_t n, float factor) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, values + i), by), d, values + i);
  }
  if (i < n) {
    store_first(hn::Mul(load_first(values + i, n - i, 0.0f), by), values + i, n - i);
  }
}

void exp_row(const float* in, std::size_t n, float shift, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, shift);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(exp_of(hn::Sub(hn::LoadU(d, in + i), by)), d, out + i);
  }
  if (i < n) {
    store_first(exp_of(hn::Sub(load_first(in + i, n - i, shift), by)), out + i, n - i);
  }
}

std::size_t find_non_finite(const float* in, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V largest = hn::Set(d, std::numeric_limits<float>::max());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto finite = hn::Le(hn::Abs(hn::LoadU(d, in + i)), largest);
    if (!hn::AllTrue(d, finite)) break;
  }
  while (i < n && std::isfinite(in[i])) ++i;
  return i;
}

#endif  // HEADGAUGE_PLAIN

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(find_extremes);
HWY_EXPORT(sum_exp);
HWY_EXPORT(scale_row);
HWY_EXPORT(exp_row);
HWY_EXPORT(find_non_finite);

WeightSums softmax_row(std::span<const float> logits, std::span<float> weights) {
  assert(!logits.empty() && (weights.empty() || weights.size() == logits.size()));
  ensure_simd_level();
  const std::size_t n = logits.size();
  float* out = weights.empty() ? nullptr : weights.data();
  const Extremes bounds = HWY_DYNAMIC_DISPATCH(find_extremes)(logits.data(), n);
  const ExpSums e = HWY_DYNAMIC_DISPATCH(sum_exp)(logits.data(), n, bounds, out);

  // Z - 1, without the 1 of the maximum.
  const double rest = (e.ones - 1.0) + e.first;
  const double z = 1.0 + rest;
  const double log_z = std::log1p(rest);
  WeightSums sums;
  sums.mass = 1.0;
  sums.abs_mass = 1.0;
  sums.entropy = log_z - e.shift / z;
  sums.square = (e.ones + e.square) / (z * z);
  sums.cube = (e.ones + e.cube) / (z * z * z);
  sums.rest_mass = e.first / z;
  sums.rest_square = e.square / (z * z);
  sums.rest_cube = e.cube / (z * z * z);
  sums.max_count = static_cast<Index>(e.ones);
  sums.max = 1.0 / z;
  sums.min = e.min / z;
  sums.max_logit = bounds.max;
  sums.min_logit = bounds.min;
  // An infinite negative logit has weight 0, but its e x is NaN.
  sums.log_sum_exp = bounds.max + log_z + 0.0 * e.shift;
  if (out != nullptr) {
    HWY_DYNAMIC_DISPATCH(scale_row)(out, n, static_cast<float>(1.0 / z));
  }
  return sums;
}

void exp_shifted(std::span<const float> in, float shift, std::span<float> out) {
  assert(in.size() == out.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(exp_row)(in.data(), in.size(), shift, out.data());
}

Index first_non_finite(std::span<const float> values) {
  ensure_simd_level();
  const std::size_t found = HWY_DYNAMIC_DISPATCH(find_non_finite)(values.data(), values.size());
  return found == values.size() ? -1 : static_cast<Index>(found);
}

Extremes extremes(std::span<const float> values) {
  assert(!values.empty());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(find_extremes)(values.data(), values.size());
}

}  // namespace headgauge
#endif
