#include "kernels/pointwise.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/shares.hpp"
#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pointwise.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/pointwise-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

// The cubes of h, and 1/h, stay within float32 if the largest h is in this range.
constexpr float kLeastTop = 1e-10f, kMostTop = 1e10f;

// Like BlockSums, but of h itself: sums over the h below the largest. These passes are limited by
// multiplications; there are four per vector here.
struct PointwiseSums {
  HWY_INLINE PointwiseSums() {
    first = shift = square = hn::Zero(D());
    cube = hn::Set(D(), kTiny);
  }
  HWY_INLINE void add(V log, V h, V top) {
    const D d;
    const auto below = hn::Lt(h, top);
    const V squared = hn::MulAdd(h, h, hn::Set(d, kTiny));
#if HWY_TARGET == HWY_AVX3
    first = V{_mm512_mask_add_ps(first.raw, below.raw, first.raw, h.raw)};
    square = V{_mm512_mask_add_ps(square.raw, below.raw, square.raw, squared.raw)};
    cube = V{_mm512_mask3_fmadd_ps(squared.raw, h.raw, cube.raw, below.raw)};
    shift = V{_mm512_mask3_fmadd_ps(h.raw, log.raw, shift.raw, below.raw)};
#else
    const V rest = hn::IfThenElseZero(below, h);
    first = hn::Add(first, rest);
    square = hn::Add(square, hn::IfThenElseZero(below, squared));
    cube = hn::MulAdd(squared, rest, cube);
    shift = hn::MulAdd(log, rest, shift);
#endif
    others += hn::CountTrue(d, below);
  }
  V first, square, cube, shift;
  std::size_t others = 0;
};

// The results of the main pass: the sums, as shares of the largest h, and the sum of the side.
struct Found {
  ShareSums shares;
  double side = 0;
};

// Converts sums of h over whole vectors with `lanes` lanes in all.
template <class F>
HWY_INLINE ShareSums in_shares(const Totals& totals, std::size_t lanes, std::size_t blocks,
                               double top) {
  const DD dd;
  const double tiny = kTiny, unit = 1 / top;
  const auto others = static_cast<double>(totals.others);
  ShareSums e;
  e.ones = static_cast<double>(lanes) - others;
  e.first = hn::GetLane(hn::SumOfLanes(dd, totals.first)) * unit;
  const double square = hn::GetLane(hn::SumOfLanes(dd, totals.square)) - tiny * others;
  e.square = std::max(square, 0.0) * unit * unit;
  const double cube = hn::GetLane(hn::SumOfLanes(dd, totals.cube)) -
                      tiny * static_cast<double>(blocks * hn::Lanes(D()));
  e.cube = std::max(cube, 0.0) * unit * unit * unit;
  const double shift = hn::GetLane(hn::SumOfLanes(dd, totals.shift)) * unit;
  e.shift = shift * (F::kLog ? 1.0 : kLn2) - log_one_plus(top - 1) * e.first;
  return e;
}

// Computes h of all logits and writes it to `out`. `top` is the largest.
template <class F>
HWY_INLINE Found pointwise_pass(const F& f, const float* in, std::size_t n, float filler, float top,
                                float* out) {
  const D d;
  const DD dd;
  const std::size_t lanes = hn::Lanes(d);
  const V most = hn::Set(d, top);
  Totals totals;
  VD all_sides = hn::Zero(dd);
  std::size_t i = 0, blocks = 0;
  // h of one vector, and the values to be summed later.
  struct Pending {
    V h, log;
  };
  const auto evaluate = [&](V l, V& more) HWY_ATTR {
    Pending p;
    p.log = most;
    p.h = f.value(l, p.log, more);
    return p;
  };
  const auto add = [&](const Pending& p, PointwiseSums& sums)
                       HWY_ATTR { sums.add(F::kLog ? p.log : log2_of(p.h), p.h, most); };
  // The sums of a vector are added while h of the next one is computed: together they form a
  // dependency chain so long that few run in parallel. The first sums added are zeros.
  Pending a{hn::Zero(d), hn::Zero(d)}, b = a;
  do {
    PointwiseSums sums;
    V side = hn::Zero(d);
    const std::size_t end = std::min(i + kBlock * lanes, n);
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      V more_a = most, more_b = most;
      const Pending x = evaluate(hn::LoadU(d, in + i), more_a);
      const Pending y = evaluate(hn::LoadU(d, in + i + lanes), more_b);
      if constexpr (F::kSide) side = hn::Add(side, hn::Add(more_a, more_b));
      add(a, sums);
      add(b, sums);
      a = x;
      b = y;
      if (out == nullptr) continue;
      hn::StoreU(x.h, d, out + i);
      hn::StoreU(y.h, d, out + i + lanes);
    }
    while (end == n && i < n) {
      const std::size_t some = std::min(lanes, n - i);
      const auto inside = hn::FirstN(d, some);
      V more = most;
      Pending x = evaluate(load_first(in + i, some, filler), more);
      x.h = hn::IfThenElseZero(inside, x.h);
      if constexpr (F::kSide) side = hn::Add(side, hn::IfThenElseZero(inside, more));
      add(x, sums);
      if (out != nullptr) store_first(x.h, out + i, some);
      i += lanes;
    }
    if (i >= n) {
      add(a, sums);
      add(b, sums);
    }
    add_block(sums, totals);
    all_sides = add_halves(all_sides, side);
    ++blocks;
  } while (i < n);
  Found found;
  found.shares = in_shares<F>(totals, i + 2 * lanes, blocks, top);
  found.side = hn::GetLane(hn::SumOfLanes(dd, all_sides));
  return found;
}

template <class F>
bool weigh_by(const F& f, const float* in, std::size_t n, Extremes bounds, float* out,
              WeightSums* sums) {
  const D d;
  const auto at = [&](float l) HWY_ATTR {
    V log, more;
    return hn::GetLane(f.value(hn::Set(d, l), log, more));
  };
  const float low = at(bounds.min), high = at(bounds.max), top = std::max(low, high);
  if (F::kCutsOff && bounds.max <= 0) {
    if (out != nullptr) std::fill_n(out, n, 0.0f);
    *sums = no_weights(n, bounds);
    return true;
  }
  if (!(top >= kLeastTop && top <= kMostTop)) return false;
  Found found = pointwise_pass(f, in, n, bounds.max, top, out);
  ShareSums& e = found.shares;
  e.min = low / top;
  const double sum = top * e.total(), divisor = f.divisor(sum, found.side);
  if (out != nullptr && divisor != 1) scale_row(out, n, static_cast<float>(1 / divisor));
  *sums = weight_sums(e, bounds, sum / divisor);
  sums->log_sum_exp = 0;
  return true;
}

bool weigh_row(const PointwiseKernel& kernel, const float* in, std::size_t n, float* out,
               WeightSums* sums) {
  bool finite = true;
  const Extremes bounds = find_extremes_of<true>(in, n, finite);
  if (!finite) return false;
  const auto weigh = [&](const auto& f) { return weigh_by(f, in, n, bounds, out, sums); };
  switch (kernel.function) {
    case PointwiseFunction::kSigmoid:
      return weigh(Sigmoid{kernel.shift});
    case PointwiseFunction::kSoftpick: {
      if (bounds.max > 1e4f) return false;
      const float k = std::max(bounds.max * kLog2E + kRound - kRound, 0.0f);
      return k > 118 ? weigh(Softpick<true>(k)) : weigh(Softpick<false>(k));
    }
    case PointwiseFunction::kSelfAdjust:
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

bool weigh_pointwise(const PointwiseKernel& kernel, std::span<const float> logits,
                     std::span<float> weights, WeightSums& sums) {
  assert(!logits.empty() && (weights.empty() || weights.size() == logits.size()));
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(weigh_row)(kernel, logits.data(), logits.size(),
                                         weights.empty() ? nullptr : weights.data(), &sums);
}

}  // namespace headgauge
#endif
