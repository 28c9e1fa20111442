#include "kernels/curves.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/shares.hpp"
#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/curves.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/curves-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

#if HEADGAUGE_PLAIN

bool weigh_row(const CurveRule&, const float*, std::size_t, float*, WeightSums*) {
  return false;
}

void cap(const float* in, std::size_t n, float c, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = c * std::tanh(in[i] / c) + 0.0f * in[i];
}

#else

// What the main pass finds besides the sums of shares.
struct Found {
  ShareSums shares;
  double side = 0;
};

// h of all logits, stored as shares of the largest h where kShares, else times `factor`. `top` is
// the largest h.
template <bool kShares, class F>
HWY_INLINE Found curve_pass(const F& f, const float* in, std::size_t n, float filler, float top,
                            float factor, float* out) {
  const D d;
  const DD dd;
  const std::size_t lanes = hn::Lanes(d);
  const V unit = hn::Set(d, unit_above(top)), one = hn::Set(d, 1.0f), by = hn::Set(d, factor);
  const V log_top = hn::Set(d, std::log(top));
  Totals totals;
  VD all_sides = hn::Zero(dd);
  V lowest = one;
  std::size_t i = 0, blocks = 0;
  const auto step = [&](V l, hn::Mask<D> inside, V& side, BlockSums& block) HWY_ATTR {
    V log = one;
    const V h = hn::IfThenElseZero(inside, f.value(l, log));
    V e = hn::Mul(h, unit);
    const auto below = hn::Lt(e, one);
    e = hn::Min(e, one);
    if constexpr (F::kDips) lowest = hn::Min(lowest, hn::IfThenElse(inside, e, one));
    if constexpr (F::kSide) side = hn::Add(side, hn::IfThenElseZero(inside, f.side(l)));
    if constexpr (F::kLog) {
      block.add(hn::IfThenElseZero(below, hn::Sub(log, log_top)), e, below);
    } else {
      block.add(log2_of(e), e, below);
    }
    return kShares ? e : hn::Mul(h, by);
  };
  const auto all = hn::FirstN(d, lanes);
  do {
    BlockSums block;
    V side = hn::Zero(d);
    const std::size_t end = std::min(i + kBlock * lanes, n);
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      const V a = step(hn::LoadU(d, in + i), all, side, block);
      const V b = step(hn::LoadU(d, in + i + lanes), all, side, block);
      if (out == nullptr) continue;
      hn::StoreU(a, d, out + i);
      hn::StoreU(b, d, out + i + lanes);
    }
    while (end == n && i < n) {
      const std::size_t some = std::min(lanes, n - i);
      const V a = step(load_first(in + i, some, filler), hn::FirstN(d, some), side, block);
      if (out != nullptr) store_first(a, out + i, some);
      i += lanes;
    }
    block.add_to(totals);
    all_sides = add_halves(all_sides, side);
    ++blocks;
  } while (i < n);
  Found found;
  found.shares = totals.sums(i / lanes, blocks);
  if (!F::kLog) found.shares.shift *= kLn2;
  found.shares.min = hn::GetLane(hn::MinOfLanes(d, lowest));
  found.side = hn::GetLane(hn::SumOfLanes(dd, all_sides));
  return found;
}

template <class F>
bool weigh_by(const F& f, const CurveRule& rule, const float* in, std::size_t n, Extremes bounds,
              float* out, WeightSums* sums) {
  const D d;
  const auto at = [&](float l) HWY_ATTR {
    V log;
    return hn::GetLane(f.value(hn::Set(d, l), log));
  };
  const float low = at(bounds.min), high = at(bounds.max), top = std::max(low, high);
  if (top == 0 && F::kCutsOff) {
    if (out != nullptr) std::fill_n(out, n, 0.0f);
    *sums = no_weights(n, bounds);
    return true;
  }
  if (!(top >= 1e-30f && top <= 1e30f)) return false;
  const auto factor = static_cast<float>(rule.factor);
  Found found = rule.normalised ? curve_pass<true>(f, in, n, bounds.max, top, 1.0f, out)
                                : curve_pass<false>(f, in, n, bounds.max, top, factor, out);
  ShareSums& e = found.shares;
  if (!F::kDips) e.min = low / top;
  const double sum = top * e.total();
  const double divisor = rule.normalised ? f.divisor(sum, found.side) : 1.0 / rule.factor;
  if (rule.normalised && out != nullptr) scale_row(out, n, static_cast<float>(top / divisor));
  *sums = weight_sums(e, bounds, sum / divisor);
  sums->log_sum_exp = 0;
  return true;
}

bool weigh_row(const CurveRule& rule, const float* in, std::size_t n, float* out,
               WeightSums* sums) {
  bool finite = true;
  const Extremes bounds = find_extremes_of<true>(in, n, finite);
  if (!finite) return false;
  const auto weigh = [&](const auto& f) { return weigh_by(f, rule, in, n, bounds, out, sums); };
  switch (rule.curve) {
    case Curve::kSigmoid:
      return weigh(Sigmoid{rule.shift});
    case Curve::kSoftplus:
      return weigh(Softplus{rule.shift});
    case Curve::kRelu:
      if (rule.power == 1) return weigh(Relu<1>{rule.shift});
      if (rule.power == 2) return weigh(Relu<2>{rule.shift});
      return weigh(Relu<0>{rule.shift, rule.power});
    case Curve::kRelu6:
      return weigh(Relu6{rule.shift});
    case Curve::kEvenPower:
      return weigh(EvenPower{rule.shift, 1.0f, rule.power});
    case Curve::kShiftedPower:
      return weigh(EvenPower{rule.shift + 1.0f, 1.0f / static_cast<float>(rule.power), rule.power});
    case Curve::kOnePlusSquare:
      return weigh(Parabola{rule.shift, 1.0f, 0.0f, 1.0f});
    case Curve::kTaylor2:
      return weigh(Parabola{rule.shift, 1.0f, 1.0f, 0.5f});
    case Curve::kSoftpick:
      return bounds.max <= 60.0f && weigh(Softpick{});
    case Curve::kSelfAdjust:
      return weigh(SelfAdjust(bounds));
  }
  return false;
}

// tanh y = m / (m + 2) with m = e^2y - 1; 1 beyond 10.
void cap(const float* in, std::size_t n, float c, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, c), half = hn::Set(d, 2.0f / c), two = hn::Set(d, 2.0f);
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t some = std::min(lanes, n - i);
    const V l = some == lanes ? hn::LoadU(d, in + i) : load_first(in + i, some, 0.0f);
    const V m = exp_minus_one(hn::Min(hn::Mul(hn::Abs(l), half), hn::Set(d, 20.0f)));
    const V size = hn::Mul(by, hn::Div(m, hn::Add(m, two)));
    const V capped = hn::MulAdd(l, hn::Zero(d), hn::CopySign(size, l));
    some == lanes ? hn::StoreU(capped, d, out + i) : store_first(capped, out + i, some);
  }
}

#endif  // HEADGAUGE_PLAIN

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(weigh_row);
HWY_EXPORT(cap);

void cap_row(std::span<const float> in, float c, std::span<float> out) {
  assert(in.size() == out.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(cap)(in.data(), in.size(), c, out.data());
}

bool weigh_curve(const CurveRule& rule, std::span<const float> logits, std::span<float> weights,
                 WeightSums& sums) {
  assert(!logits.empty() && (weights.empty() || weights.size() == logits.size()));
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(weigh_row)(rule, logits.data(), logits.size(),
                                         weights.empty() ? nullptr : weights.data(), &sums);
}

}  // namespace headgauge
#endif
