// Per-target: logarithms of a vector. Include after hwy/highway.h, inside foreach_target.

// NOLINTBEGIN(llvm-header-guard)
#if defined(HEADGAUGE_LOG_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADGAUGE_LOG_TOGGLE
#undef HEADGAUGE_LOG_TOGGLE
#else
#define HEADGAUGE_LOG_TOGGLE
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/exp-inl.hpp"
#include "kernels/targets.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

#if !HEADGAUGE_PLAIN

// log2(x) of finite x >= 0; below the smallest normal number it is that number's. x = 2^k (1 + r)
// with 1 + r in [sqrt 1/2, sqrt 2], and log2(1 + r) = r P(r) with P minimax in relative error:
// 1.7e-7, exactly 0 at x = 1.
HWY_INLINE V log2_of(V x) {
  const D d;
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, hn::Max(x, hn::Set(d, 1.17549435e-38f)));
  const auto root_half = hn::Set(di, 0x3f3504f3);
  const auto k = hn::ShiftRight<23>(hn::Sub(bits, root_half));
  const V r = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(k))), hn::Set(d, 1.0f));
  V p = hn::MulAdd(hn::Set(d, -0.145811662f), r, hn::Set(d, 0.234042361f));
  p = hn::MulAdd(p, r, hn::Set(d, -0.24887687f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.287098706f));
  p = hn::MulAdd(p, r, hn::Set(d, -0.360239625f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.480923235f));
  p = hn::MulAdd(p, r, hn::Set(d, -0.721352816f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.4426949f));
  return hn::MulAdd(p, r, hn::ConvertTo(d, k));
}

// log(1 + x) for x in [0, 1] by a polynomial, minimax in relative error: 2.2e-7.
HWY_INLINE V log_one_plus_of(V x) {
  const D d;
  V p = hn::MulAdd(hn::Set(d, -0.00853920635f), x, hn::Set(d, 0.0440896228f));
  p = hn::MulAdd(p, x, hn::Set(d, -0.107681699f));
  p = hn::MulAdd(p, x, hn::Set(d, 0.1774524f));
  p = hn::MulAdd(p, x, hn::Set(d, -0.244954631f));
  p = hn::MulAdd(p, x, hn::Set(d, 0.332754791f));
  p = hn::MulAdd(p, x, hn::Set(d, -0.499974042f));
  p = hn::MulAdd(p, x, hn::Set(d, 0.999999821f));
  return hn::Mul(p, x);
}

#endif  // !HEADGAUGE_PLAIN

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
// NOLINTEND(llvm-header-guard)
