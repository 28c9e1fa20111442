// Per-target: the curves of curves.hpp. Include after hwy/highway.h, inside foreach_target.
//
// value(l, log) is h >= 0; kLog: it also gives log h. kDips: h may be smaller between the extremes
// of the row than at them. kCutsOff: h may be 0 for a whole row. kSide: side(l) is summed as well,
// and divisor() is what normalised weights are divided by, from sum h and sum side.

// NOLINTBEGIN(llvm-header-guard)
#if defined(HEADGAUGE_CURVES_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADGAUGE_CURVES_TOGGLE
#undef HEADGAUGE_CURVES_TOGGLE
#else
#define HEADGAUGE_CURVES_TOGGLE
#endif

#include "hwy/highway.h"
#include "kernels/exp-inl.hpp"
#include "kernels/log-inl.hpp"
#include "kernels/shares-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

#if !HEADGAUGE_PLAIN

struct PlainCurve {
  static constexpr bool kLog = false, kDips = false, kCutsOff = false, kSide = false;
  HWY_INLINE V side(V) const { return hn::Zero(D()); }
  HWY_INLINE double divisor(double sum, double) const { return sum; }
};

// With E = e^-|x| in [0, 1]: 1/(1 + E) or E/(1 + E), and log = min(x, 0) - log(1 + E).
struct Sigmoid : PlainCurve {
  static constexpr bool kLog = true;
  HWY_INLINE explicit Sigmoid(float b) : shift(b) {}
  HWY_INLINE V value(V l, V& log) const {
    const D d;
    const V x = hn::Add(l, hn::Set(d, shift)), one = hn::Set(d, 1.0f);
    const V e = exp_of<true>(hn::Neg(hn::Abs(x)));
    log = hn::Sub(hn::Min(x, hn::Zero(d)), log_one_plus_of(e));
    return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
  }
  float shift;
};

// max(x, 0) + log(1 + e^-|x|).
struct Softplus : PlainCurve {
  HWY_INLINE explicit Softplus(float b) : shift(b) {}
  HWY_INLINE V value(V l, V&) const {
    const D d;
    const V x = hn::Add(l, hn::Set(d, shift));
    return hn::Add(hn::Max(x, hn::Zero(d)), log_one_plus_of(exp_of<true>(hn::Neg(hn::Abs(x)))));
  }
  float shift;
};

HWY_INLINE V power_of(V x, int power) {
  V out = hn::Set(D(), 1.0f);
  for (; power > 0; power >>= 1) {
    if ((power & 1) != 0) out = hn::Mul(out, x);
    x = hn::Mul(x, x);
  }
  return out;
}

// kPower 0: a power known at run time.
template <int kPower>
struct Relu : PlainCurve {
  static constexpr bool kCutsOff = true;
  HWY_INLINE explicit Relu(float b, int p = kPower) : shift(b), power(p) {}
  HWY_INLINE V value(V l, V&) const {
    const D d;
    const V x = hn::Max(hn::Add(l, hn::Set(d, shift)), hn::Zero(d));
    if constexpr (kPower == 1) return x;
    if constexpr (kPower == 2) return hn::Mul(x, x);
    return power_of(x, power);
  }
  float shift;
  int power;
};

struct Relu6 : PlainCurve {
  static constexpr bool kCutsOff = true;
  HWY_INLINE explicit Relu6(float b) : shift(b) {}
  HWY_INLINE V value(V l, V&) const {
    const D d;
    const V x = hn::Max(hn::Add(l, hn::Set(d, shift)), hn::Zero(d));
    return hn::Min(x, hn::Set(d, 6.0f));
  }
  float shift;
};

// (scale l + shift)^power, power even.
struct EvenPower : PlainCurve {
  static constexpr bool kDips = true;
  HWY_INLINE EvenPower(float b, float factor, int p) : shift(b), scale(factor), power(p) {}
  HWY_INLINE V value(V l, V&) const {
    const D d;
    return power_of(hn::MulAdd(l, hn::Set(d, scale), hn::Set(d, shift)), power);
  }
  float shift, scale;
  int power;
};

// a + b x + c x^2 > 0.
struct Parabola : PlainCurve {
  static constexpr bool kDips = true;
  HWY_INLINE Parabola(float at, float constant, float linear, float quadratic)
      : shift(at), a(constant), b(linear), c(quadratic) {}
  HWY_INLINE V value(V l, V&) const {
    const D d;
    const V x = hn::Add(l, hn::Set(d, shift));
    return hn::MulAdd(hn::MulAdd(x, hn::Set(d, c), hn::Set(d, b)), x, hn::Set(d, a));
  }
  float shift, a, b, c;
};

// e^x - 1 = 2^k (2^f - 1) + (2^k - 1), which keeps its digits near 0; for x in [-80, 60].
HWY_INLINE V exp_minus_one(V x) {
  const D d;
  const hn::RebindToSigned<D> di;
  const V log2e = hn::Set(d, kLog2E);
  const V k = hn::Round(hn::Mul(x, log2e));
  const V f = hn::MulSub(x, log2e, k);
  V p = hn::MulAdd(hn::Set(d, kPoly5), f, hn::Set(d, kPoly4));
  p = hn::MulAdd(p, f, hn::Set(d, kPoly3));
  p = hn::MulAdd(p, f, hn::Set(d, kPoly2));
  p = hn::MulAdd(p, f, hn::Set(d, kPoly1));
  const auto bits = hn::Add(hn::ConvertTo(di, k), hn::Set(di, 127));
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(bits));
  return hn::MulAdd(hn::Mul(p, f), power, hn::Sub(power, hn::Set(d, 1.0f)));
}

// The side is sum |e^l - 1| over l < 0.
struct Softpick : PlainCurve {
  static constexpr bool kCutsOff = true, kSide = true;
  HWY_INLINE V value(V l, V&) const {
    const D d;
    return hn::Max(exp_minus_one(hn::Max(l, hn::Set(d, -80.0f))), hn::Zero(d));
  }
  HWY_INLINE V side(V l) const {
    const D d;
    return hn::Max(hn::Neg(exp_minus_one(hn::Max(l, hn::Set(d, -80.0f)))), hn::Zero(d));
  }
  HWY_INLINE double divisor(double sum, double side) const { return sum + side + 1e-8; }
};

// e^(l - max l) (l - m); the side is sum e^(l - max l).
struct SelfAdjust : PlainCurve {
  static constexpr bool kSide = true;
  HWY_INLINE explicit SelfAdjust(Extremes row)
      : top(row.max), low(std::min(row.min, 0.0f)), high(std::max(row.max, 0.0f)) {}
  HWY_INLINE V value(V l, V&) const { return hn::Mul(side(l), hn::Sub(l, hn::Set(D(), low))); }
  HWY_INLINE V side(V l) const { return exp_of<true>(hn::Sub(l, hn::Set(D(), top))); }
  HWY_INLINE double divisor(double, double side) const {
    return side * (static_cast<double>(high) - low);
  }
  float top, low, high;
};

#endif  // !HEADGAUGE_PLAIN

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
// NOLINTEND(llvm-header-guard)
