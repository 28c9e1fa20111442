#include "kernels/walk_members.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/walk_members.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// One member, in float64.
HWY_INLINE void bound_one(double a, const BoundFacts& f, MemberBounds& sums) {
  const double total = std::max(f.mass - std::abs(a), 0.0);
  const double square = std::max(f.squares - a * a, 0.0);
  const double v2 = f.largest2 * square;
  const double xi =
      std::sqrt(std::max(v2 + f.nearest * std::max(total * total - square, 0.0), 0.0));
  sums.xi += xi;
  if (xi < f.radius) sums.lower += 1.0;
  if (v2 == 0.0) {
    sums.model_lower += 1.0;
    sums.model_upper += 1.0;
  } else {
    const double above = std::max(f.radius - std::sqrt(v2), 0.0);
    const double below = std::max(std::sqrt(v2 * f.shrink2) - f.radius, 0.0);
    const double tail = 1.0 - std::exp(-0.5 * above * above / v2);
    const double chebyshev = 1.0 - v2 / (f.radius * f.radius);
    sums.model_lower += std::max({0.0, tail, chebyshev});
    sums.model_upper += std::exp(-0.5 * below * below / v2);
  }
  const double apart = f.radius - xi;
  sums.upper_paper += f.largest2 > 0.0 ? std::exp(-apart * apart / (16.0 * f.largest2)) : 1.0;
}

#if HEADGAUGE_PLAIN

MemberComparison compare(const float* inside, const float* weight, std::size_t n, float lowest,
                         float relative, float products, std::uint64_t* bits) {
  MemberComparison found;
  for (std::size_t i = 0; i < n; ++i) {
    const float q = inside[i];
    const float slack = std::max(relative * std::max(std::abs(q), std::abs(lowest)),
                                 products * std::abs(weight[i]));
    found.close = found.close || std::abs(q - lowest) <= slack;
    if (q < lowest) {
      ++found.below;
      bits[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    found.sum += q;
  }
  return found;
}

MemberBounds bounds(const float* weight, std::size_t n, const BoundFacts& f) {
  MemberBounds sums;
  for (std::size_t i = 0; i < n; ++i) bound_one(weight[i], f, sums);
  return sums;
}

#else

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DD = hn::ScalableTag<double>;
using VD = hn::Vec<DD>;

MemberComparison compare(const float* inside, const float* weight, std::size_t n, float lowest,
                         float relative, float products, std::uint64_t* bits) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V low = hn::Set(d, lowest), share = hn::Set(d, relative), scale = hn::Set(d, products);
  const V least = hn::Mul(share, hn::Abs(low));
  V sum = hn::Zero(d);
  MemberComparison found;
  for (std::size_t i = 0; i < n; i += lanes) {
    const auto used = hn::FirstN(d, n - i);
    const V q = hn::IfThenElse(used, hn::LoadU(d, inside + i), hn::Zero(d));
    const V w = hn::Abs(hn::LoadU(d, weight + i));
    const V slack = hn::Max(hn::Max(least, hn::Mul(share, hn::Abs(q))), hn::Mul(scale, w));
    const auto near = hn::And(used, hn::Le(hn::Abs(hn::Sub(q, low)), slack));
    const auto below = hn::And(used, hn::Lt(q, low));
    found.close = found.close || !hn::AllFalse(d, near);
    found.below += static_cast<int>(hn::CountTrue(d, below));
    std::uint8_t mask[8] = {};
    hn::StoreMaskBits(d, below, mask);
    std::uint64_t word = 0;
    for (std::size_t b = 0; b < (lanes + 7) / 8; ++b) word |= std::uint64_t{mask[b]} << (8 * b);
    bits[i / 64] |= word << (i % 64);
    sum = hn::Add(sum, q);
  }
  found.sum = hn::GetLane(hn::SumOfLanes(d, sum));
  return found;
}

HWY_INLINE double sum_lanes(VD sum) {
  return hn::GetLane(hn::SumOfLanes(DD(), sum));
}

MemberBounds bounds(const float* weight, std::size_t n, const BoundFacts& f) {
  const DD d;
  const hn::Rebind<float, DD> narrow;
  const std::size_t lanes = hn::Lanes(d);
  const VD zero = hn::Zero(d), one = hn::Set(d, 1.0), half = hn::Set(d, -0.5);
  const VD mass = hn::Set(d, f.mass), squares = hn::Set(d, f.squares);
  const VD radius = hn::Set(d, f.radius), largest2 = hn::Set(d, f.largest2);
  const VD nearest = hn::Set(d, f.nearest), shrink2 = hn::Set(d, f.shrink2);
  const VD inverse_radius2 = hn::Set(d, 1.0 / (f.radius * f.radius));
  const VD paper = hn::Set(d, f.largest2 > 0.0 ? -1.0 / (16.0 * f.largest2) : 0.0);
  VD xi_sum = zero, lower_sum = zero, model_lower = zero, model_upper = zero, upper_paper = zero;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VD a = hn::PromoteTo(d, hn::LoadU(narrow, weight + i));
    const VD total = hn::Max(hn::Sub(mass, hn::Abs(a)), zero);
    const VD square = hn::Max(hn::NegMulAdd(a, a, squares), zero);
    const VD v2 = hn::Mul(largest2, square);
    const VD cross = hn::Max(hn::Sub(hn::Mul(total, total), square), zero);
    const VD xi = hn::Sqrt(hn::Max(hn::MulAdd(nearest, cross, v2), zero));
    xi_sum = hn::Add(xi_sum, xi);
    lower_sum = hn::Add(lower_sum, hn::IfThenElseZero(hn::Lt(xi, radius), one));
    const auto alone = hn::Eq(v2, zero);
    const VD safe = hn::IfThenElse(alone, one, v2);
    const VD above = hn::Max(hn::Sub(radius, hn::Sqrt(v2)), zero);
    const VD below = hn::Max(hn::Sub(hn::Sqrt(hn::Mul(v2, shrink2)), radius), zero);
    const VD inverse = hn::Div(half, safe);
    const VD tail = hn::Sub(one, hn::Exp(d, hn::Mul(hn::Mul(above, above), inverse)));
    const VD chebyshev = hn::NegMulAdd(v2, inverse_radius2, one);
    const VD low = hn::Max(zero, hn::Max(tail, chebyshev));
    model_lower = hn::Add(model_lower, hn::IfThenElse(alone, one, low));
    const VD high = hn::Exp(d, hn::Mul(hn::Mul(below, below), inverse));
    model_upper = hn::Add(model_upper, hn::IfThenElse(alone, one, high));
    const VD apart = hn::Sub(radius, xi);
    upper_paper = hn::Add(upper_paper, hn::Exp(d, hn::Mul(hn::Mul(apart, apart), paper)));
  }
  MemberBounds sums{sum_lanes(xi_sum), sum_lanes(lower_sum), sum_lanes(model_lower),
                    sum_lanes(model_upper), sum_lanes(upper_paper)};
  for (; i < n; ++i) bound_one(weight[i], f, sums);
  return sums;
}

#endif  // HEADGAUGE_PLAIN

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(compare);
HWY_EXPORT(bounds);

MemberComparison compare_members(std::span<const float> inside, std::span<const float> weight,
                                 float lowest, float relative, float products,
                                 std::span<std::uint64_t> bits) {
  assert(bits.size() * 64 >= inside.size());
  std::ranges::fill(bits, 0);
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(compare)(inside.data(), weight.data(), inside.size(), lowest,
                                       relative, products, bits.data());
}

MemberBounds bound_members(std::span<const float> weight, const BoundFacts& facts) {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(bounds)(weight.data(), weight.size(), facts);
}

}  // namespace headgauge
#endif
