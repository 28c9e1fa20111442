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

// Sums over a row of e_j = exp(x_j), x_j = l_j - max l <= 0. The powers are kept as e - e^2,
// e^2 - e^3 and e^3: all three have terms >= 0 and the first two are 0 where e = 1, so that the sum
// without the maximum keeps its digits in a row where one key takes nearly all.
struct ExpSums {
  double first = 0;   // sum e - e^2
  double second = 0;  // sum e^2 - e^3
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
    sums.first += w - w * w;
    sums.second += w * w - w * w * w;
    sums.cube += w * w * w;
    sums.shift += w * x;
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

// The first n lanes of `from`, and `other` in the rest.
HWY_INLINE V load_first(const float* from, std::size_t n, float other) {
  const D d;
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(d, other), d, lanes);
  for (std::size_t i = 0; i < n; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
}

HWY_INLINE void store_first(V v, float* to, std::size_t n) {
  const D d;
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < n; ++i) to[i] = lanes[i];
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

// Running sums in float lanes, handed to float64 every kBlock vectors: a lane adds so few terms
// that its rounding stays below 1e-6.
class LaneSums {
 public:
  HWY_INLINE LaneSums() { clear(); }

  HWY_INLINE void add(V x, V e) {
    const D d;
    const V tiny = hn::Set(d, kTiny);
    const V square = hn::MulAdd(e, e, tiny);
    const V difference = hn::NegMulAdd(e, e, e);
    first_ = hn::Add(first_, difference);
    second_ = hn::MulAdd(difference, e, second_);
    cube_ = hn::MulAdd(square, e, cube_);
    shift_ = hn::MulAdd(e, x, shift_);
  }

  HWY_INLINE void flush(ExpSums& sums) {
    const D d;
    // kTiny came in once a lane.
    const V tiny = hn::Set(d, kTiny);
    sums.first += total(first_);
    sums.second += total(hn::Sub(second_, tiny));
    sums.cube += total(hn::Sub(cube_, tiny));
    sums.shift += total(shift_);
    clear();
  }

 private:
  // Squares and cubes of small weights would leave the normal numbers, where processors are a
  // hundred times slower; on top of this they cannot.
  static constexpr float kTiny = 1e-30f;

  HWY_INLINE void clear() {
    const D d;
    first_ = shift_ = hn::Zero(d);
    second_ = cube_ = hn::Set(d, kTiny);
  }

  static HWY_INLINE double total(V v) {
    const D d;
    const hn::Repartition<double, D> dd;
    const hn::Half<D> dh;
    const auto low = hn::PromoteTo(dd, hn::LowerHalf(dh, v));
    const auto high = hn::PromoteTo(dd, hn::UpperHalf(dh, v));
    return hn::GetLane(hn::SumOfLanes(dd, hn::Add(low, high)));
  }

  V first_, second_, cube_, shift_;
};

constexpr std::size_t kBlock = 16;  // vectors

template <bool kStore>
HWY_INLINE ExpSums sum_exp_of(const float* in, std::size_t n, Extremes bounds, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V shift = hn::Set(d, bounds.max);
  ExpSums sums;
  LaneSums running;
  std::size_t i = 0;
  while (i + lanes <= n) {
    const std::size_t end = std::min(i + kBlock * lanes, n / lanes * lanes);
    for (; i < end; i += lanes) {
      const V x = hn::Sub(hn::LoadU(d, in + i), shift);
      const V e = exp_of(x);
      if constexpr (kStore) hn::StoreU(e, d, out + i);
      running.add(x, e);
    }
    running.flush(sums);
  }
  if (i < n) {
    // The lanes beyond the row are given e = 0.
    const V low = hn::Set(d, 2 * kLowest);
    const V x =
        hn::IfThenElse(hn::FirstN(d, n - i), hn::Sub(load_first(in + i, n - i, 0.0f), shift), low);
    const V e = exp_of(x);
    if constexpr (kStore) store_first(e, out + i, n - i);
    running.add(x, e);
    running.flush(sums);
  }
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
  for (; i < n; ++i) values[i] *= factor;
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

  // Z - 1, without the 1 of the maximum; rounding may leave the cubes just below 1.
  const double rest = std::max(e.cube - 1.0, 0.0) + e.second + e.first;
  const double z = 1.0 + rest;
  const double log_z = std::log1p(rest);
  WeightSums sums;
  sums.mass = 1.0;
  sums.abs_mass = 1.0;
  sums.entropy = log_z - e.shift / z;
  sums.square = (e.cube + e.second) / (z * z);
  sums.cube = e.cube / (z * z * z);
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
