#include "kernels/threshold_normalizers.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/shares.hpp"
#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#ifndef HEADGAUGE_THRESHOLD_NORMALIZERS_WORK
#define HEADGAUGE_THRESHOLD_NORMALIZERS_WORK
namespace headgauge {

// Scratch memory of one thread, with room for whole vectors after the last key.
struct RootWork {
  explicit RootWork(std::size_t n) {
    const std::size_t room = n + 64;
    index.resize(room);
    kept.resize(room);
    u.resize(room);
    shares.resize(room);
  }
  AlignedVector<std::uint32_t> index;  // keys that may have a weight
  AlignedVector<float> kept;           // logits of these keys
  AlignedVector<double> u;             // their scaled distances below the largest
  AlignedVector<float> shares;         // their weights divided by the largest
};

}  // namespace headgauge
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/threshold_normalizers.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/log-inl.hpp"
#include "kernels/shares-inl.hpp"
#include "kernels/threshold-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

#if HEADGAUGE_AVX

// Collects positions and logits of the keys with a logit of at least `bound`.
std::size_t collect(const float* in, std::size_t n, float bound, RootWork& work) {
  const D d;
  const DU du;
  const std::size_t lanes = hn::Lanes(d);
  const V least = hn::Set(d, bound);
  auto* values = reinterpret_cast<std::uint32_t*>(work.kept.data());
  std::size_t count = 0;
  const auto add = [&](V l, hn::Mask<D> kept, std::size_t i) HWY_ATTR {
    if (hn::AllFalse(d, kept)) return;
    const auto at = hn::Iota(du, static_cast<std::uint32_t>(i));
    store_where(kept, at, work.index.data() + count);
    count += store_where(kept, hn::BitCast(du, l), values + count);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V l = hn::LoadU(d, in + i);
    add(l, hn::Ge(l, least), i);
  }
  if (i < n) {
    const V l = load_first(in + i, n - i, 0.0f);
    add(l, hn::And(hn::FirstN(d, n - i), hn::Ge(l, least)), i);
  }
  return count;
}

// Computes u = (l - top) scale in float64, with `filler` after the last.
void lower(const float* in, std::size_t n, float top, double scale, double filler, double* u) {
  const DD dd;
  const hn::Half<D> dh;
  const std::size_t lanes = hn::Lanes(dd);
  const VD shift = hn::Set(dd, top), by = hn::Set(dd, scale);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VD l = hn::PromoteTo(dd, hn::LoadU(dh, in + i));
    hn::StoreU(hn::Mul(hn::Sub(l, shift), by), dd, u + i);
  }
  for (; i < n; ++i) u[i] = (static_cast<double>(in[i]) - top) * scale;
  for (; i % hn::Lanes(D()) != 0; ++i) u[i] = filler;
}

HWY_INLINE VD power_of(VD x, VD exponent) {
  const DD dd;
  return hn::Exp(dd, hn::Mul(exponent, hn::Log(dd, x)));
}

// Sums over y = u - at of f(y), and of a second function that is proportional to its slope.
struct Sums {
  double value = 0, slope = 0;
};

// The power p in [y]_+^p and [y]_+^(p - 1).
enum class Power { kOne, kTwo, kWhole, kAny };

constexpr int kMostWhole = 64;

HWY_INLINE VD whole_power(VD x, int power) {
  VD out = hn::Set(DD(), 1.0);
  for (; power > 0; power >>= 1) {
    if ((power & 1) != 0) out = hn::Mul(out, x);
    x = hn::Mul(x, x);
  }
  return out;
}

template <Power kPower>
HWY_INLINE VD positive_part(VD y, VD& slope, double p) {
  const DD dd;
  const auto inside = hn::Gt(y, hn::Zero(dd));
  const VD rest = hn::IfThenElseZero(inside, y);
  if constexpr (kPower == Power::kOne) {
    slope = hn::IfThenElseZero(inside, hn::Set(dd, 1.0));
    return rest;
  } else if constexpr (kPower == Power::kTwo) {
    slope = rest;
    return hn::Mul(rest, rest);
  } else if constexpr (kPower == Power::kWhole) {
    slope = whole_power(rest, static_cast<int>(p) - 1);
    return hn::Mul(slope, rest);
  } else {
    const VD less = hn::Set(dd, p - 1);
    slope = hn::IfThenElseZero(inside, power_of(hn::Max(y, hn::Set(dd, 1e-300)), less));
    return hn::Mul(slope, rest);
  }
}

template <class F>
HWY_INLINE Sums add_up(const double* u, std::size_t n, double at, const F& f) {
  const DD dd;
  const std::size_t lanes = hn::Lanes(dd);
  const VD shift = hn::Set(dd, at);
  VD value = hn::Zero(dd), slope = value, value2 = value, slope2 = value;
  for (std::size_t i = 0; i < n; i += 2 * lanes) {
    VD s, t;
    value = hn::Add(value, f(hn::Sub(hn::Load(dd, u + i), shift), s));
    value2 = hn::Add(value2, f(hn::Sub(hn::Load(dd, u + i + lanes), shift), t));
    slope = hn::Add(slope, s);
    slope2 = hn::Add(slope2, t);
  }
  return {hn::GetLane(hn::SumOfLanes(dd, hn::Add(value, value2))),
          hn::GetLane(hn::SumOfLanes(dd, hn::Add(slope, slope2)))};
}

// Finds tau with sum [u - tau]_+^p = 1. The p-norm of [u - tau]_+ decreases with tau and, for p >=
// 1, is convex: Newton's method from the left approaches 1 without passing it and ends after a few
// steps, for p = 1 and 2 as soon as the support is right. For p < 1 the sum has vertical slopes
// where a key enters; bisection replaces steps that leave the bracket or do not shrink.
template <Power kPower>
double threshold(const double* u, std::size_t n, double p) {
  const auto f = [p](VD y, VD& slope) HWY_ATTR { return positive_part<kPower>(y, slope, p); };
  // Newton doubles the correct digits at each step, and the weights are float32 and scaled to sum
  // to 1.
  const double enough = kPower != Power::kOne && kPower != Power::kTwo && p > 1 ? 1e-8 : 0;
  double low = -1, high = -std::pow(static_cast<double>(n), -1 / p), tau = low;
  double before = 1, last = 1;  // lengths of the last two steps
  for (int i = 0; i < 200; ++i) {
    const Sums sums = add_up(u, n, tau, f);
    (sums.value >= 1 ? low : high) = tau;
    const double norm = kPower == Power::kOne   ? sums.value
                        : kPower == Power::kTwo ? std::sqrt(sums.value)
                                                : std::pow(sums.value, 1 / p);
    const double slope = sums.slope * norm / sums.value;
    double next = slope > 0 ? tau + (norm - 1) / slope : low;
    const bool slow = p < 1 && std::abs(next - tau) > 0.5 * before;
    if (slow || !(next >= low && next <= high)) next = 0.5 * (low + high);
    before = last;
    last = std::abs(next - tau);
    if (last <= 2e-16 || low == high) break;
    tau = next;
    if (last <= -enough * tau) break;
  }
  return tau;
}

// Computes the sums of n shares, which zeros pad to whole vectors.
ShareSums add_shares(const float* shares, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  Totals totals;
  V lowest = hn::Set(d, 1.0f);
  std::size_t i = 0, blocks = 0;
  while (i < n) {
    BlockSums block;
    const std::size_t end = std::min(i + kBlock * lanes, n);
    for (; i < end; i += lanes) {
      const V e = hn::Load(d, shares + i);
      lowest = hn::Min(lowest, hn::IfThenElse(hn::FirstN(d, n - i), e, lowest));
      block.add<false>(log2_of(e), e);
    }
    add_block(block, totals);
    ++blocks;
  }
  ShareSums e = totals.sums(i / lanes, blocks);
  e.shift *= kLn2;
  e.min = hn::GetLane(hn::MinOfLanes(d, lowest));
  return e;
}

// Sets shares = f(u - at), at most 1, and 1 where u is 0.
template <class F>
HWY_INLINE void store_shares(const double* u, std::size_t n, double at, const F& f, float* shares) {
  const DD dd;
  const hn::Rebind<float, DD> dh;
  const std::size_t lanes = hn::Lanes(dd);
  const VD shift = hn::Set(dd, at), one = hn::Set(dd, 1.0);
  for (std::size_t i = 0; i < n; i += lanes) {
    const VD x = hn::Load(dd, u + i);
    const VD e = hn::Min(f(hn::Sub(x, shift)), one);
    hn::StoreU(hn::DemoteTo(dh, hn::IfThenElse(hn::Eq(x, hn::Zero(dd)), one, e)), dh, shares + i);
  }
  std::fill(shares + n, shares + up_to_vectors(n), 0.0f);
}

template <Power kPower>
void entmax_shares(std::size_t n, double p, RootWork& work) {
  const DD dd;
  const double tau = threshold<kPower>(work.u.data(), n, p);
  const VD unit = hn::Set(dd, -1 / tau);
  const auto f = [&](VD y) HWY_ATTR {
    VD slope;
    return positive_part<kPower>(hn::Mul(y, unit), slope, p);
  };
  store_shares(work.u.data(), n, tau, f, work.shares.data());
}

bool entmax(const float* in, std::size_t n, double alpha, double scale, float* out,
            WeightSums* sums, RootWork& work) {
  bool finite = true;
  const Extremes bounds = find_extremes_of<true>(in, n, finite);
  if (!finite) return false;
  const double p = 1 / (alpha - 1), factor = (alpha - 1) * scale;
  // Slightly below where the support can end, to allow for rounding.
  const double end = bounds.max - (1 + 1e-6) / factor - 1e-6 * std::abs(bounds.max);
  const bool all = !(end > bounds.min);
  const float* kept = in;
  std::size_t count = n;
  if (!all) {
    count = collect(in, n, static_cast<float>(end), work);
    kept = work.kept.data();
  }
  lower(kept, count, bounds.max, factor, -2.0, work.u.data());
  if (alpha == 2) {
    entmax_shares<Power::kOne>(count, p, work);
  } else if (alpha == 1.5) {
    entmax_shares<Power::kTwo>(count, p, work);
  } else if (p > 2 && p < kMostWhole && std::abs(p - std::round(p)) < 1e-12) {
    entmax_shares<Power::kWhole>(count, std::round(p), work);
  } else {
    entmax_shares<Power::kAny>(count, p, work);
  }
  ShareSums e = add_shares(work.shares.data(), count);
  if (!all) e.min = 0;
  *sums = weight_sums(e, bounds);
  sums->log_sum_exp = 0;
  if (out == nullptr) return true;
  scale_row(work.shares.data(), count, static_cast<float>(1 / e.total()));
  if (all) {
    std::copy_n(work.shares.data(), n, out);
    return true;
  }
  std::fill_n(out, n, 0.0f);
  for (std::size_t i = 0; i < count; ++i) out[work.index[i]] = work.shares[i];
  return true;
}

#else

bool entmax(const float*, std::size_t, double, double, float*, WeightSums*, RootWork&) {
  return false;
}

#endif

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(entmax);

namespace {

RootWork& work_for(std::size_t n) {
  thread_local RootWork work(0);
  if (work.u.size() < n + 64) work = RootWork(2 * n);
  return work;
}

}  // namespace

bool entmax_row(std::span<const float> logits, double alpha, double scale, std::span<float> weights,
                WeightSums& sums) {
  assert(!logits.empty() && (weights.empty() || weights.size() == logits.size()));
  assert(alpha > 1 && scale >= 0);
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(entmax)(logits.data(), logits.size(), alpha, scale,
                                      weights.empty() ? nullptr : weights.data(), &sums,
                                      work_for(logits.size()));
}

}  // namespace headgauge
#endif
