#include "kernels/secular.hpp"

#include <cassert>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/secular.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

#if HEADGAUGE_PLAIN

SecularSums add_secular(const double* square, const double* left, const double* right,
                        const double* cross, std::size_t n, double lam) {
  SecularSums sums;
  for (std::size_t i = 0; i < n; ++i) {
    const double t = 1 / (lam - square[i]);
    sums.left += left[i] * t;
    sums.right += right[i] * t;
    sums.cross += cross[i] * t;
  }
  return sums;
}

#else

namespace hn = hwy::HWY_NAMESPACE;

SecularSums add_secular(const double* square, const double* left, const double* right,
                        const double* cross, std::size_t n, double lam) {
  const hn::CappedTag<double, kSecularKeys> d;
  using V = hn::Vec<decltype(d)>;
  const V one = hn::Set(d, 1.0), at = hn::Set(d, lam);
  V of_left = hn::Zero(d), of_right = hn::Zero(d), of_cross = hn::Zero(d);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V t = hn::Div(one, hn::Sub(at, hn::Load(d, square + i)));
    of_left = hn::MulAdd(hn::Load(d, left + i), t, of_left);
    of_right = hn::MulAdd(hn::Load(d, right + i), t, of_right);
    of_cross = hn::MulAdd(hn::Load(d, cross + i), t, of_cross);
  }
  const auto total = [&](V v) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, v)); };
  return {total(of_left), total(of_right), total(of_cross)};
}

#endif  // HEADGAUGE_PLAIN

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(add_secular);

SecularSums secular_sums(const SecularRow& row, double lam) {
  assert(std::ssize(row.square) % kSecularKeys == 0);
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(add_secular)(row.square.data(), row.left.data(), row.right.data(),
                                           row.cross.data(), row.square.size(), lam);
}

}  // namespace headgauge
#endif
