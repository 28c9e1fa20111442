#include "kernels/sensitivity_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/sensitivity_sums.hpp"
#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sensitivity_row.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DD = hn::ScalableTag<double>;
using VD = hn::Vec<DD>;

// Needs at least two logits.
LargestLogits find_largest_logits(const float* logits, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), whole = n / lanes * lanes;
  V high = hn::Set(d, -std::numeric_limits<float>::infinity()), next = high;
  for (std::size_t i = 0; i < whole; i += lanes) {
    const V x = hn::LoadU(d, logits + i);
    next = hn::Max(next, hn::Min(high, x));
    high = hn::Max(high, x);
  }
  HWY_ALIGN float best[2 * HWY_MAX_BYTES / sizeof(float)];
  hn::Store(high, d, best);
  hn::Store(next, d, best + lanes);
  float first = -std::numeric_limits<float>::infinity();
  LargestLogits largest{0, first};
  const auto take = [&](float x) {
    largest.second = std::max(largest.second, std::min(first, x));
    first = std::max(first, x);
  };
  for (std::size_t i = 0; i < 2 * lanes; ++i) take(best[i]);
  for (std::size_t i = whole; i < n; ++i) take(logits[i]);
  const V top = hn::Set(d, first);
  for (; largest.first < whole; largest.first += lanes) {
    const auto found = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, logits + largest.first), top));
    if (found >= 0) {
      largest.first += static_cast<std::size_t>(found);
      return largest;
    }
  }
  while (logits[largest.first] != first) ++largest.first;
  return largest;
}

// Computes l_i - l_second and v_i - v_first.
SlopeRange shift_row(const float* HWY_RESTRICT logits, const double* HWY_RESTRICT v, std::size_t n,
                     LargestLogits largest, float* HWY_RESTRICT fall, float* HWY_RESTRICT slope) {
  const D d;
  const DD dd;
  const hn::Half<D> half;
  const std::size_t lanes = hn::Lanes(d);
  const V second = hn::Set(d, largest.second), least = hn::Set(d, kNoWeight);
  const VD of_first = hn::Set(dd, v[largest.first]);
  V low = hn::Zero(d), high = low;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::Store(hn::Max(hn::Sub(hn::LoadU(d, logits + i), second), least), d, fall + i);
    const auto lower = hn::DemoteTo(half, hn::Sub(hn::LoadU(dd, v + i), of_first));
    const auto upper = hn::DemoteTo(half, hn::Sub(hn::LoadU(dd, v + i + lanes / 2), of_first));
    const V w = hn::Combine(d, upper, lower);
    hn::Store(w, d, slope + i);
    low = hn::Min(low, w);
    high = hn::Max(high, w);
  }
  SlopeRange range{hn::GetLane(hn::MinOfLanes(d, low)), hn::GetLane(hn::MaxOfLanes(d, high))};
  for (; i < n; ++i) {
    fall[i] = std::max(logits[i] - largest.second, kNoWeight);
    slope[i] = static_cast<float>(v[i] - v[largest.first]);
    range.low = std::min(range.low, slope[i]);
    range.high = std::max(range.high, slope[i]);
  }
  return range;
}

// Computes l_i + step v_i.
HWY_INLINE VD stepped(const float* logits, const double* v, std::size_t i, VD step) {
  const hn::Rebind<float, DD> half;
  return hn::MulAdd(step, hn::LoadU(DD(), v + i), hn::PromoteTo(DD(), hn::LoadU(half, logits + i)));
}

double exp_step(const float* logits, const double* v, std::size_t n, double step, double shift,
                double temperature, double* out) {
  const DD d;
  const std::size_t lanes = hn::Lanes(d);
  const VD steps = hn::Set(d, step), shifts = hn::Set(d, shift);
  const VD scale = hn::Set(d, 1 / temperature);
  VD sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VD x = hn::Mul(hn::Sub(stepped(logits, v, i, steps), shifts), scale);
    const VD e = hn::Exp(d, x);
    sum = hn::Add(sum, e);
    hn::StoreU(e, d, out + i);
  }
  double total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) {
    out[i] = std::exp((logits[i] + step * v[i] - shift) / temperature);
    total += out[i];
  }
  return total;
}

double largest_step(const float* logits, const double* v, std::size_t n, double step) {
  const DD d;
  const std::size_t lanes = hn::Lanes(d);
  const VD steps = hn::Set(d, step);
  VD largest = hn::Set(d, -std::numeric_limits<double>::infinity());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) largest = hn::Max(largest, stepped(logits, v, i, steps));
  double out = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < n; ++i) out = std::max(out, logits[i] + step * v[i]);
  return out;
}

void subtract_step(const float* HWY_RESTRICT logits, const double* HWY_RESTRICT v, std::size_t n,
                   double step, double shift, float* HWY_RESTRICT out) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(std::max<double>(logits[i] + step * v[i] - shift, kNoWeight));
  }
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(find_largest_logits);
HWY_EXPORT(shift_row);
HWY_EXPORT(exp_step);
HWY_EXPORT(largest_step);
HWY_EXPORT(subtract_step);

LargestLogits find_largest(std::span<const float> logits) {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(find_largest_logits)(logits.data(), logits.size());
}

SlopeRange start_row(std::span<const float> logits, std::span<const double> v,
                     LargestLogits largest, std::span<float> fall, std::span<float> slope) {
  const SlopeRange range = HWY_DYNAMIC_DISPATCH(shift_row)(logits.data(), v.data(), logits.size(),
                                                           largest, fall.data(), slope.data());
  fall[largest.first] = kNoWeight;
  return range;
}

double move_row(std::span<const float> logits, std::span<const double> v, double epsilon,
                std::size_t first, std::span<float> moved) {
  const auto largest_of = [&](std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(largest_step)(logits.data() + begin, v.data() + begin, end - begin,
                                              epsilon);
  };
  const double largest = std::max(largest_of(0, first), largest_of(first + 1, logits.size()));
  HWY_DYNAMIC_DISPATCH(subtract_step)
  (logits.data(), v.data(), logits.size(), epsilon, largest, moved.data());
  moved[first] = kNoWeight;
  return logits[first] + epsilon * v[first] - largest;
}

double gain_in_float64(std::span<const float> logits, std::span<const double> v, std::size_t first,
                       double temperature, double epsilon, AlignedVector<double>& a,
                       AlignedVector<double>& b) {
  const std::size_t n = logits.size();
  a.resize(n);
  b.resize(n);
  const auto exp_all = HWY_DYNAMIC_DISPATCH(exp_step);
  const double shift = HWY_DYNAMIC_DISPATCH(largest_step)(logits.data(), v.data(), n, epsilon);
  exp_all(logits.data(), v.data(), n, 0.0, logits[first], temperature, a.data());
  exp_all(logits.data(), v.data(), n, epsilon, shift, temperature, b.data());
  const double first_before = std::exchange(a[first], 0.0);
  const double first_after = std::exchange(b[first], 0.0);
  double mass_before = 0, mass_after = 0;
  for (std::size_t i = 0; i < n; ++i) {
    mass_before += a[i];
    mass_after += b[i];
  }
  const Weights before(first_before, mass_before), after(first_after, mass_after);
  double square = first_change(before, after) * first_change(before, after);
  for (std::size_t i = 0; i < n; ++i) {
    const double change = b[i] * after.factor - a[i] * before.factor;
    square += change * change;
  }
  return std::sqrt(square) / epsilon;
}

}  // namespace headgauge
#endif
