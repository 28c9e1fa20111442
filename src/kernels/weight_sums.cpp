#include "kernels/weight_sums.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include "kernels/shares.hpp"
#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/weight_sums.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/log-inl.hpp"
#include "kernels/shares-inl.hpp"

// Uses shares e = a / M of the largest magnitude M, so that nothing over- or underflows and the
// sums without the largest stay precise. With S = sum |a| the entropy of |a| / S is log(S / M) -
// sum |e| log|e| / (S / M).

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

double add_distances(const float* in, std::size_t n, float first) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), step = kBlock * lanes;
  const V next = hn::Set(d, static_cast<float>(lanes));
  V distance = hn::Iota(d, first);
  VD total = hn::Zero(DD());
  for (std::size_t begin = 0; begin < n; begin += step) {
    const std::size_t end = std::min(begin + step, n);
    V block = hn::Zero(d);
    for (std::size_t i = begin; i < end; i += lanes) {
      const V a = i + lanes <= end ? hn::LoadU(d, in + i) : load_first(in + i, end - i, 0.0f);
      block = hn::MulAdd(hn::Abs(a), hn::Abs(distance), block);
      distance = hn::Add(distance, next);
    }
    total = add_halves(total, block);
  }
  return hn::GetLane(hn::SumOfLanes(DD(), total));
}

// Like BlockSums for signed weights: first, square and cube are those of the weights below the
// largest; `magnitude` is sum |e| where |e| < 1.
struct SignedSums {
  HWY_INLINE SignedSums() { magnitude = hn::Zero(DD()); }
  Totals below;
  VD magnitude;
  std::size_t small = 0;  // number of lanes with |e| < 1
};

HWY_INLINE void add_signed(const float* in, std::size_t n, V largest, V unit, SignedSums& sums) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V one = hn::Set(d, 1.0f);
  V first = hn::Zero(d), square = first, cube = first, shift = first, magnitude = first;
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t some = std::min(lanes, n - i);
    const V a = some == lanes ? hn::LoadU(d, in + i) : load_first(in + i, some, 0.0f);
    const V size = hn::Mul(hn::Abs(a), unit);
    // Lanes beyond the row are 0: below any positive largest, and not counted as equal to it.
    const auto inside = hn::FirstN(d, some);
    const auto is_small = hn::Lt(size, one);
    const V e = hn::Min(size, one);
    const auto under = hn::And(inside, hn::Lt(a, largest));
    const V rest = hn::IfThenElseZero(under, hn::CopySign(e, a));
    const V squared = hn::Mul(rest, rest);
    first = hn::Add(first, rest);
    square = hn::Add(square, squared);
    cube = hn::MulAdd(squared, rest, cube);
    shift = hn::MulAdd(e, log2_of(e), shift);
    magnitude = hn::Add(magnitude, hn::IfThenElseZero(is_small, e));
    sums.below.others += hn::CountTrue(d, under);
    sums.small += hn::CountTrue(d, is_small);
  }
  sums.below.first = add_halves(sums.below.first, first);
  sums.below.square = add_halves(sums.below.square, square);
  sums.below.cube = add_halves(sums.below.cube, cube);
  sums.below.shift = add_halves(sums.below.shift, shift);
  sums.magnitude = add_halves(sums.magnitude, magnitude);
}

void add_up_signed(const float* in, std::size_t n, Extremes bounds, WeightSums* sums) {
  const D d;
  const DD dd;
  const std::size_t lanes = hn::Lanes(d), step = kBlock * lanes;
  const float top = std::max(-bounds.min, bounds.max);
  const V largest = hn::Set(d, bounds.max), unit = hn::Set(d, unit_above(top));
  SignedSums lane_sums;
  for (std::size_t i = 0; i < n; i += step) {
    add_signed(in + i, std::min(step, n - i), largest, unit, lane_sums);
  }
  const double first = hn::GetLane(hn::SumOfLanes(dd, lane_sums.below.first));
  const double square = hn::GetLane(hn::SumOfLanes(dd, lane_sums.below.square));
  const double cube = hn::GetLane(hn::SumOfLanes(dd, lane_sums.below.cube));
  const double shift = hn::GetLane(hn::SumOfLanes(dd, lane_sums.below.shift)) * kLn2;
  const double rest = hn::GetLane(hn::SumOfLanes(dd, lane_sums.magnitude));
  const double m = top, ones = static_cast<double>(up_to_vectors(n) - lane_sums.small);
  sums->max_count = static_cast<Index>(n - lane_sums.below.others);
  sums->rest_mass = m * first;
  sums->rest_square = m * m * square;
  sums->rest_cube = m * m * m * cube;
  sums->abs_mass = m * (ones + rest);
  sums->entropy = log_one_plus((ones - 1) + rest) - shift / (ones + rest);
}

// Sums weights that are not negative: the sums of softmax, with log e computed from e.
void add_up_positive(const float* in, std::size_t n, Extremes bounds, WeightSums* sums) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V one = hn::Set(d, 1.0f);
  const V unit = hn::Set(d, unit_above(bounds.max));
  Totals totals;
  std::size_t i = 0, blocks = 0;
  const auto add = [&](V a, BlockSums& block) HWY_ATTR {
    const V e = hn::Min(hn::Mul(a, unit), one);
    block.add<false>(log2_of(e), e);
  };
  do {
    BlockSums block;
    const std::size_t end = std::min(i + kBlock * lanes, n);
    for (; i + lanes <= end; i += lanes) add(hn::LoadU(d, in + i), block);
    if (end == n && i < n) {
      add(load_first(in + i, n - i, 0.0f), block);
      i += lanes;
    }
    add_block(block, totals);
    ++blocks;
  } while (i < n);
  ShareSums e = totals.sums(i / lanes, blocks);
  e.shift *= kLn2;
  const double factor = bounds.max;
  *sums = weight_sums(e, bounds, factor * e.total());
  sums->log_sum_exp = 0;
}

void add_up(const float* in, std::size_t n, Extremes bounds, WeightSums* sums) {
  bounds.min < 0 ? add_up_signed(in, n, bounds, sums) : add_up_positive(in, n, bounds, sums);
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(add_up);
HWY_EXPORT(add_distances);

WeightSums sum_weights(std::span<const float> weights, const Extremes& logits) {
  assert(!weights.empty());
  const Extremes bounds = extremes(weights);
  constexpr float kNormal = std::numeric_limits<float>::min();
  if (std::max(-bounds.min, bounds.max) < kNormal) return no_weights(weights.size(), logits);
  WeightSums sums;
  HWY_DYNAMIC_DISPATCH(add_up)(weights.data(), weights.size(), bounds, &sums);
  const auto count = static_cast<double>(sums.max_count);
  const double max = bounds.max;
  sums.mass = sums.rest_mass + count * max;
  sums.square = sums.rest_square + count * max * max;
  sums.cube = sums.rest_cube + count * max * max * max;
  sums.max = max;
  sums.min = bounds.min;
  sums.max_logit = logits.max;
  sums.min_logit = logits.min;
  sums.entropy = std::max(0.0, sums.entropy);
  return sums;
}

WeightSums sum_weights(std::span<const float> weights, std::span<const float> logits) {
  WeightSums sums = sum_weights(weights, extremes(logits));
  if (first_non_finite(logits) >= 0) sums.log_sum_exp = kUndefined;
  return sums;
}

double sum_distances(std::span<const float> weights, Index first) {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(add_distances)(weights.data(), weights.size(),
                                             static_cast<float>(first));
}

}  // namespace headgauge
#endif
