#include <cmath>
#include <limits>

#include "kernels/simd.hpp"
#include "kernels/softmax.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/finite.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

std::size_t find_non_finite(const float* in, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V largest = hn::Set(d, std::numeric_limits<float>::max());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto finite = hn::Le(hn::Abs(hn::LoadU(d, in + i)), largest);
    if (!hn::AllTrue(d, finite)) break;
  }
  while (i < n && std::isfinite(in[i])) ++i;
  return i;
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(find_non_finite);

Index first_non_finite(std::span<const float> values) {
  ensure_simd_level();
  const std::size_t found = HWY_DYNAMIC_DISPATCH(find_non_finite)(values.data(), values.size());
  return found == values.size() ? -1 : static_cast<Index>(found);
}

}  // namespace headgauge
#endif
