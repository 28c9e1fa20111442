// Compiled per target: logarithms of a vector. Include after hwy/highway.h, inside foreach_target.

// NOLINTBEGIN(llvm-header-guard)
#if defined(HEADGAUGE_LOG_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADGAUGE_LOG_TOGGLE
#undef HEADGAUGE_LOG_TOGGLE
#else
#define HEADGAUGE_LOG_TOGGLE
#endif

#include "hwy/highway.h"
#include "kernels/exp-inl.hpp"
#include "kernels/targets.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

// Computes log2(x) of finite x >= 0; x below the smallest normal number counts as that number. x =
// 2^k (1 + r) and log2(1 + r) = r P(r). AVX-512 splits x in two instructions, with r in [0, 1):
// 2.1e-6 absolute. Elsewhere 1 + r is in [sqrt 1/2, sqrt 2]: 1.1e-6 relative. Exactly 0 at x = 1.
HWY_INLINE V log2_of(V x) {
  const D d;
  const V normal = hn::Max(x, hn::Set(d, 1.17549435e-38f));
#if HWY_TARGET == HWY_AVX3
  const V k{_mm512_getexp_ps(normal.raw)};
  const V m{_mm512_getmant_ps(normal.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero)};
  const V r = hn::Sub(m, hn::Set(d, 1.0f));
  V p = hn::MulAdd(hn::Set(d, -0.0264574456f), r, hn::Set(d, 0.123451479f));
  p = hn::MulAdd(p, r, hn::Set(d, -0.279538129f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.458270819f));
  p = hn::MulAdd(p, r, hn::Set(d, -0.718281929f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.44255315f));
  return hn::MulAdd(p, r, k);
#else
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, normal);
  const auto k = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  const V r = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(k))), hn::Set(d, 1.0f));
  V p = hn::MulAdd(hn::Set(d, 0.171624541f), r, hn::Set(d, -0.26932022f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.295699537f));
  p = hn::MulAdd(p, r, hn::Set(d, -0.359371632f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.480626762f));
  p = hn::MulAdd(p, r, hn::Set(d, -0.721363604f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.44269645f));
  return hn::MulAdd(p, r, hn::ConvertTo(d, k));
#endif
}

// Computes from - log(1 + x) for x in [0, 1] to 1.5e-6 absolute, if only the difference matters.
HWY_INLINE V minus_log_one_plus(V from, V x) {
  const D d;
  V p = hn::MulAdd(hn::Set(d, -0.0183389038f), x, hn::Set(d, 0.0855700448f));
  p = hn::MulAdd(p, x, hn::Set(d, -0.193761066f));
  p = hn::MulAdd(p, x, hn::Set(d, 0.317649126f));
  p = hn::MulAdd(p, x, hn::Set(d, -0.497875094f));
  p = hn::MulAdd(p, x, hn::Set(d, 0.999901652f));
  return hn::NegMulAdd(p, x, from);
}

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
// NOLINTEND(llvm-header-guard)
