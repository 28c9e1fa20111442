// Compiled per target: exp of a vector, and vectors at the end of a row. Include after
// hwy/highway.h, inside foreach_target.

// NOLINTBEGIN(llvm-header-guard)
#if defined(HEADGAUGE_EXP_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADGAUGE_EXP_TOGGLE
#undef HEADGAUGE_EXP_TOGGLE
#else
#define HEADGAUGE_EXP_TOGGLE
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/targets.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// exp(x) = 2^k 2^f with k = round(x log2 e), |f| <= 1/2. 2^f is a polynomial of degree 5 that is 1
// at 0, so that the largest weight of a row is exact. It is minimax in relative error: 4.4e-7.
constexpr float kLog2E = 1.44269504088896341f;
// Adding it rounds to an integer, which is then in the low bits.
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
// exp(x) of smaller x is 0; above it all intermediate values are normal numbers.
constexpr float kLowest = -87.0f;
constexpr float kPoly1 = 0.693142831f;
constexpr float kPoly2 = 0.240223512f;
constexpr float kPoly3 = 0.0555740036f;
constexpr float kPoly4 = 0.00966628268f;
constexpr float kPoly5 = 0.00111255073f;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Computes exp(c x) for c x <= 88, given c log2(e) and kLowest / c. Without kClip, c x must also be
// >= kLowest (or NaN).
template <bool kClip>
HWY_INLINE V exp_scaled(V x, V log2e, V lowest) {
  const D d;
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
  if constexpr (!kClip) return V{_mm512_scalef_ps(p.raw, k.raw)};
  const auto kept = _mm512_cmp_ps_mask(x.raw, lowest.raw, _CMP_NLT_UQ);
  return V{_mm512_maskz_scalef_ps(kept, p.raw, k.raw)};
#else
  const hn::RebindToUnsigned<D> du;
  const auto power = hn::ShiftLeft<23>(hn::BitCast(du, rounded));
  const V e = hn::BitCast(d, hn::Add(hn::BitCast(du, p), power));
  if constexpr (!kClip) return e;
  return hn::IfThenZeroElse(hn::Lt(x, lowest), e);
#endif
}

template <bool kClip>
HWY_INLINE V exp_of(V x) {
  return exp_scaled<kClip>(x, hn::Set(D(), kLog2E), hn::Set(D(), kLowest));
}

// Returns how many of `left` values are in the vector after the first v vectors.
HWY_INLINE std::size_t lanes_left(std::size_t left, std::size_t v) {
  const std::size_t lanes = hn::Lanes(D());
  return std::min(left - std::min(left, v * lanes), lanes);
}

// Loads the first n lanes of `from` and sets the rest to `other`; reads nothing else.
HWY_INLINE V load_first(const float* from, std::size_t n, float other) {
  const D d;
#if HEADGAUGE_AVX
  const auto mask = hn::FirstN(d, n);
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), hn::Set(d, other));
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(d, other), d, lanes);
  for (std::size_t i = 0; i < n; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

// Writes only the first n lanes.
HWY_INLINE void store_first(V v, float* to, std::size_t n) {
  const D d;
#if HEADGAUGE_AVX
  hn::BlendedStore(v, hn::FirstN(d, n), d, to);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < n; ++i) to[i] = lanes[i];
#endif
}

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
// NOLINTEND(llvm-header-guard)
