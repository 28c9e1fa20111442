// Compiled per target: the functions of pointwise.hpp. Include after hwy/highway.h, inside
// foreach_target.
//
// value(l, log, side) returns h >= 0. With kLog it also sets log h. With kSide it also sets a
// second number, which is summed; divisor() computes the divisor of normalised weights from sum h
// and sum side. kCutsOff: h may be 0 for a whole row.

// NOLINTBEGIN(llvm-header-guard)
#if defined(HEADGAUGE_POINTWISE_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADGAUGE_POINTWISE_TOGGLE
#undef HEADGAUGE_POINTWISE_TOGGLE
#else
#define HEADGAUGE_POINTWISE_TOGGLE
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/exp-inl.hpp"
#include "kernels/log-inl.hpp"
#include "kernels/shares-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

struct PlainFunction {
  static constexpr bool kLog = false, kCutsOff = false, kSide = false;
};

// Uses E = e^-|x| in [0, 1]: h is 1/(1 + E) or E/(1 + E), and log h = min(x, 0) - log(1 + E).
struct Sigmoid : PlainFunction {
  static constexpr bool kLog = true;
  HWY_INLINE explicit Sigmoid(float b) : shift(b) {}
  HWY_INLINE double divisor(double, double) const { return 1; }
  HWY_INLINE V value(V l, V& log, V&) const {
    const D d;
    const V x = hn::Add(l, hn::Set(d, shift)), one = hn::Set(d, 1.0f);
    const V e = exp_of<false>(hn::Max(hn::Or(x, hn::SignBit(d)), hn::Set(d, kLowest)));
    log = minus_log_one_plus(hn::Min(x, hn::Zero(d)), e);
    return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
  }
  float shift;
};

// Computes 2^-K (e^x - 1) = 2^(k - K) (2^f - 1) + (2^(k - K) - 2^-K), which is precise near 0, for
// |x| <= 1e4 and k - K in [-126, 127]. `unit` is 2^-K. 2^f - 1 = f P(f), |f| <= 1/2, P minimax in
// relative error: 4.7e-7 (the polynomial of exp_of is not, and is 6e-6 off near 0).
HWY_INLINE V exp_minus_one(V x, V lowered, V unit) {
  const D d;
  const V log2e = hn::Set(d, kLog2E), round = hn::Set(d, kRound);
  const V k = hn::Sub(hn::MulAdd(x, log2e, round), round);
  const V f = hn::MulSub(x, log2e, k);
  V p = hn::MulAdd(hn::Set(d, 0.00133335381f), f, hn::Set(d, 0.00966624543f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.0555050038f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.240223512f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.693147123f));
  const V exponent = hn::Sub(k, lowered);
#if HWY_TARGET == HWY_AVX3
  const V power{_mm512_scalef_ps(hn::Set(d, 1.0f).raw, exponent.raw)};
#else
  // The low bits have the exponent and its offset.
  const hn::RebindToUnsigned<D> du;
  const V biased = hn::Add(exponent, hn::Set(d, kRound + 127.0f));
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, biased)));
#endif
  return hn::MulAdd(hn::Mul(p, f), power, hn::Sub(power, unit));
}

HWY_INLINE V exp_minus_one(V x) {
  const D d;
  return exp_minus_one(x, hn::Zero(d), hn::Set(d, 1.0f));
}

// All values are times 2^-K, with K about log2 of the largest e^l. The side is sum (e^l - 1) over
// all l. With kHigh, K is so large that low logits are raised to positive values.
template <bool kHigh>
struct Softpick : PlainFunction {
  static constexpr bool kCutsOff = true, kSide = true;
  HWY_INLINE explicit Softpick(float k)
      : lowered(k),
        lowest(std::max((lowered - 120.0f) / kLog2E, -80.0f)),
        unit(k > 126 ? 0.0f : std::bit_cast<float>((127 - static_cast<std::uint32_t>(k)) << 23)) {}
  HWY_INLINE V value(V l, V&, V& side) const {
    const D d;
    const V raised = hn::Max(l, hn::Set(d, lowest));
    side = exp_minus_one(raised, hn::Set(d, lowered), hn::Set(d, unit));
    if constexpr (kHigh) side = hn::IfThenElseZero(hn::Gt(l, hn::Zero(d)), side);
    return hn::Max(side, hn::Zero(d));
  }
  // sum |e^l - 1| is twice the sum of the positive terms minus the sum of all.
  HWY_INLINE double divisor(double sum, double side) const {
    return 2 * sum - side + 1e-8 * static_cast<double>(unit);
  }
  float lowered, lowest, unit;
};

// e^(l - max l) (l - m); the side is sum e^(l - max l).
struct SelfAdjust : PlainFunction {
  static constexpr bool kSide = true;
  HWY_INLINE explicit SelfAdjust(Extremes row)
      : top(row.max), low(std::min(row.min, 0.0f)), high(std::max(row.max, 0.0f)) {}
  HWY_INLINE V value(V l, V&, V& side) const {
    const D d;
    side = exp_of<true>(hn::Sub(l, hn::Set(d, top)));
    return hn::Mul(side, hn::Sub(l, hn::Set(d, low)));
  }
  HWY_INLINE double divisor(double, double side) const {
    return side * (static_cast<double>(high) - low);
  }
  float top, low, high;
};

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
// NOLINTEND(llvm-header-guard)
