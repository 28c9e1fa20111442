#include "kernels/top_prefix_members.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/top_prefix_members.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// If xi_i and r are closer than this, float32 cannot tell which is larger.
constexpr float kClose = 4e-6f;

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

// Computes f(a) for whole vectors of members; differences from the sums are in float64. If one
// weight is nearly all, the sum of the others stays precise.
HWY_INLINE V others(V a, double sum, bool squared) {
  const D d;
  const DD dd;
  const hn::Half<D> half;
  const VD zero = hn::Zero(dd), all = hn::Set(dd, sum);
  const auto rest = [&](hn::Vec<hn::Half<D>> part) HWY_ATTR {
    const VD w = hn::PromoteTo(dd, part);
    const VD left = squared ? hn::NegMulAdd(w, w, all) : hn::Sub(all, hn::Abs(w));
    return hn::DemoteTo(half, hn::Max(left, zero));
  };
  return hn::Combine(d, rest(hn::UpperHalf(half, a)), rest(hn::LowerHalf(half, a)));
}

MemberBounds bounds(const float* weight, std::size_t n, const BoundFacts& f) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  const V radius = hn::Set(d, static_cast<float>(f.radius));
  const V largest2 = hn::Set(d, static_cast<float>(f.largest2));
  const V nearest = hn::Set(d, static_cast<float>(f.nearest));
  const V shrink = hn::Set(d, static_cast<float>(std::sqrt(f.shrink2)));
  const V inverse_radius2 = hn::Set(d, static_cast<float>(1.0 / (f.radius * f.radius)));
  const V paper =
      hn::Set(d, f.largest2 > 0.0 ? static_cast<float>(-1.0 / (16.0 * f.largest2)) : 0.0f);
  V xi_sum = zero, lower_sum = zero, model_lower = zero, model_upper = zero, upper_paper = zero;
  bool close = false;
  for (std::size_t i = 0; i < n; i += lanes) {
    const auto used = hn::FirstN(d, n - i);
    const V a = hn::IfThenElseZero(used, hn::LoadU(d, weight + i));
    const V total = others(a, f.mass, false);
    const V square = others(a, f.squares, true);
    const V v2 = hn::Mul(largest2, square);
    const V cross = hn::Max(hn::NegMulAdd(one, square, hn::Mul(total, total)), zero);
    const V xi = hn::Sqrt(hn::Max(hn::MulAdd(nearest, cross, v2), zero));
    const V apart = hn::Sub(radius, xi);
    const auto near = hn::Le(hn::Abs(apart), hn::Set(d, kClose * static_cast<float>(f.radius)));
    close = close || !hn::AllFalse(d, hn::And(used, near));
    const auto alone = hn::Eq(v2, zero);
    const V v = hn::Sqrt(v2);
    const V inverse = hn::Div(hn::Set(d, -0.5f), hn::IfThenElse(alone, one, v2));
    const V above = hn::Max(hn::Sub(radius, v), zero);
    const V below = hn::Max(hn::MulSub(v, shrink, radius), zero);
    const V tail = hn::Sub(one, hn::Exp(d, hn::Mul(hn::Mul(above, above), inverse)));
    const V chebyshev = hn::NegMulAdd(v2, inverse_radius2, one);
    const V low = hn::IfThenElse(alone, one, hn::Max(zero, hn::Max(tail, chebyshev)));
    const V high = hn::IfThenElse(alone, one, hn::Exp(d, hn::Mul(hn::Mul(below, below), inverse)));
    const V printed = hn::Exp(d, hn::Mul(hn::Mul(apart, apart), paper));
    const auto add = [&](V sum, V value)
                         HWY_ATTR { return hn::Add(sum, hn::IfThenElseZero(used, value)); };
    xi_sum = add(xi_sum, xi);
    lower_sum = add(lower_sum, hn::IfThenElseZero(hn::Gt(apart, zero), one));
    model_lower = add(model_lower, low);
    model_upper = add(model_upper, high);
    upper_paper = add(upper_paper, printed);
  }
  const auto sum = [&](V v)
                       HWY_ATTR { return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, v))); };
  return {sum(xi_sum), sum(lower_sum), sum(model_lower), sum(model_upper), sum(upper_paper), close};
}

void add_scaled_to(const float* HWY_RESTRICT x, std::size_t n, double factor,
                   double* HWY_RESTRICT total) {
  const DD d;
  const hn::Rebind<float, DD> narrow;
  const std::size_t lanes = hn::Lanes(d);
  const VD f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VD v = hn::PromoteTo(d, hn::LoadU(narrow, x + i));
    hn::StoreU(hn::MulAdd(f, v, hn::LoadU(d, total + i)), d, total + i);
  }
  for (; i < n; ++i) total[i] += factor * x[i];
}

double dot_wide(const float* HWY_RESTRICT x, const double* HWY_RESTRICT y, std::size_t n) {
  const DD d;
  const hn::Rebind<float, DD> narrow;
  const std::size_t lanes = hn::Lanes(d);
  VD sum0 = hn::Zero(d), sum1 = sum0;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum0 = hn::MulAdd(hn::PromoteTo(d, hn::LoadU(narrow, x + i)), hn::LoadU(d, y + i), sum0);
    sum1 = hn::MulAdd(hn::PromoteTo(d, hn::LoadU(narrow, x + i + lanes)),
                      hn::LoadU(d, y + i + lanes), sum1);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(compare);
HWY_EXPORT(bounds);
HWY_EXPORT(add_scaled_to);
HWY_EXPORT(dot_wide);

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

void add_scaled(std::span<const float> x, double factor, std::span<double> total) {
  assert(total.size() == x.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(add_scaled_to)(x.data(), x.size(), factor, total.data());
}

double dot(std::span<const float> x, std::span<const double> y) {
  assert(y.size() == x.size());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(dot_wide)(x.data(), y.data(), x.size());
}

}  // namespace headgauge
#endif
