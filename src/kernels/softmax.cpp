#include "kernels/softmax.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/shares.hpp"
#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/exp-inl.hpp"
#include "kernels/shares-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Computes e = exp(c x) with x = l - max l. The scale c costs nothing: it is a factor of log2(e)
// and of the sum of e x.
template <bool kStore, bool kClip>
HWY_INLINE ShareSums sum_exp_of(const float* in, std::size_t n, Extremes bounds, float scale,
                                float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V shift = hn::Set(d, bounds.max);
  const V log2e = hn::Set(d, scale * kLog2E), lowest = hn::Set(d, kLowest / scale);
  const auto exp = [&](V x) HWY_ATTR { return exp_scaled<kClip>(x, log2e, lowest); };
  Totals totals;
  std::size_t i = 0, blocks = 0;
  do {
    BlockSums block;
    const std::size_t end = std::min(i + kBlock * lanes, n);
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      const V x = hn::Sub(hn::LoadU(d, in + i), shift);
      const V y = hn::Sub(hn::LoadU(d, in + i + lanes), shift);
      const V e = exp(x), f = exp(y);
      if constexpr (kStore) {
        hn::StoreU(e, d, out + i);
        hn::StoreU(f, d, out + i + lanes);
      }
      block.add(x, e);
      block.add(y, f);
    }
    if (end == n) {
      // Handles the last vectors, at most two, without a branch: e = 0 in the lanes beyond the row.
      const std::size_t left = n - i, one = lanes_left(left, 0), two = lanes_left(left, 1);
      const V x = hn::Sub(load_first(in + i, one, bounds.max), shift);
      const V y = hn::Sub(load_first(in + i + lanes, two, bounds.max), shift);
      const V e = hn::IfThenElseZero(hn::FirstN(d, one), exp(x));
      const V f = hn::IfThenElseZero(hn::FirstN(d, two), exp(y));
      if constexpr (kStore) {
        store_first(e, out + i, one);
        store_first(f, out + i + lanes, two);
      }
      block.add(x, e);
      block.add(y, f);
      i += 2 * lanes;
    }
    add_block(block, totals);
    ++blocks;
  } while (i < n);
  ShareSums sums = totals.sums(i / lanes, blocks);
  sums.shift *= scale;
  sums.min = hn::GetLane(exp_scaled<true>(hn::Set(d, bounds.min - bounds.max), log2e, lowest));
  return sums;
}

ShareSums sum_exp(const float* in, std::size_t n, Extremes bounds, float scale, float* out) {
  // Few rows need clipping. NaN does, as it may hide the true extremes.
  const bool clip = !((bounds.min - bounds.max) * scale >= kLowest);
  if (out == nullptr) {
    return clip ? sum_exp_of<false, true>(in, n, bounds, scale, out)
                : sum_exp_of<false, false>(in, n, bounds, scale, out);
  }
  return clip ? sum_exp_of<true, true>(in, n, bounds, scale, out)
              : sum_exp_of<true, false>(in, n, bounds, scale, out);
}

void exp_row(const float* in, std::size_t n, float shift, float* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, shift);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(exp_of<true>(hn::Sub(hn::LoadU(d, in + i), by)), d, out + i);
  }
  if (i < n) {
    store_first(exp_of<true>(hn::Sub(load_first(in + i, n - i, shift), by)), out + i, n - i);
  }
}

// Runs the three passes in one call, so that the end of one overlaps with the start of the next.
void softmax_of(const float* in, std::size_t n, float scale, float* out, WeightSums* sums) {
  const Extremes bounds = find_extremes(in, n);
  const ShareSums e = sum_exp(in, n, bounds, scale, out);
  if (out != nullptr) scale_row(out, n, static_cast<float>(1.0 / e.total()));
  *sums = weight_sums(e, bounds);
  // A logit of -infinity has weight 0, but its e x is NaN.
  sums->log_sum_exp += static_cast<double>(bounds.max) * scale + 0.0 * e.shift;
}

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(find_extremes);
HWY_EXPORT(softmax_of);
HWY_EXPORT(exp_row);

WeightSums softmax_row(std::span<const float> logits, std::span<float> weights, float scale) {
  assert(scale >= 0);
  assert(!logits.empty() && (weights.empty() || weights.size() == logits.size()));
  ensure_simd_level();
  WeightSums sums;
  HWY_DYNAMIC_DISPATCH(softmax_of)
  (logits.data(), logits.size(), scale, weights.empty() ? nullptr : weights.data(), &sums);
  return sums;
}

void exp_shifted(std::span<const float> in, float shift, std::span<float> out) {
  assert(in.size() == out.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(exp_row)(in.data(), in.size(), shift, out.data());
}

Extremes extremes(std::span<const float> values) {
  assert(!values.empty());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(find_extremes)(values.data(), values.size());
}

}  // namespace headgauge
#endif
