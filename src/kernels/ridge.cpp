#include "kernels/ridge.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#ifndef HEADGAUGE_RIDGE_SHARED
#define HEADGAUGE_RIDGE_SHARED
namespace headgauge {

// psi = sum r/(lam - r) over the r below the second largest, and its derivatives: sum r/(lam - r)^2
// and sum r/(lam - r)^3 (which are -psi' and psi''/2).
struct Psi {
  double value = 0;
  double first = 0;
  double second = 0;
};

// Input of the first guess at the root: number of entries equal to the second largest, and sums
// over the entries below it.
struct Below {
  double equal = 0;
  double sum = 0;
  double square = 0;
};

}  // namespace headgauge
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ridge.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DD = hn::Repartition<double, D>;
using VD = hn::Vec<DD>;

// Calls body on every vector of the row; the lanes beyond its end are 0.
template <class Body>
HWY_INLINE void each_vector(const float* in, std::size_t n, const Body& body) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(hn::LoadU(d, in + i));
  if (i == n) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
  std::copy(in + i, in + n, rest);
  body(hn::Load(d, rest));
}

TwoLargest find_two(const float* in, std::size_t n) {
  const D d;
  V first = hn::Zero(d), second = hn::Zero(d);
  each_vector(in, n, [&](V x) HWY_ATTR {
    second = hn::Max(second, hn::Min(first, x));
    first = hn::Max(first, x);
  });
  HWY_ALIGN float lanes[2 * HWY_MAX_BYTES / sizeof(float)];
  const std::size_t count = hn::Lanes(d);
  hn::Store(first, d, lanes);
  hn::Store(second, d, lanes + count);
  TwoLargest out;
  for (std::size_t i = 0; i < 2 * count; ++i) {
    out.second = std::max(out.second, std::min(out.first, lanes[i]));
    out.first = std::max(out.first, lanes[i]);
  }
  return out;
}

// Uses float32, which is enough for a guess.
Below sum_below(const float* in, std::size_t n, float second, float scale) {
  const D d;
  const V q = hn::Set(d, second), factor = hn::Set(d, scale), one = hn::Set(d, 1.0f);
  // Keeps the squares in the range of normal numbers, where processors are fast.
  const V tiny = hn::Set(d, 1e-30f);
  V equal = hn::Zero(d), sum = hn::Zero(d), square = tiny;
  each_vector(in, n, [&](V x) HWY_ATTR {
    equal = hn::Add(equal, hn::IfThenElseZero(hn::Eq(x, q), one));
    const V r = hn::Mul(hn::IfThenElseZero(hn::Lt(x, q), x), factor);
    sum = hn::Add(sum, r);
    square = hn::MulAdd(r, r, square);
  });
  const auto total = [&](V v) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, v)); };
  return {total(equal), total(sum), total(hn::Sub(square, tiny))};
}

Psi psi_float(const float* in, std::size_t n, float second, float scale, double eta) {
  const D d;
  const V q = hn::Set(d, second), factor = hn::Set(d, scale);
  const V shift = hn::Set(d, static_cast<float>(eta));
  V value = hn::Zero(d), first = hn::Zero(d), third = hn::Zero(d);
  each_vector(in, n, [&](V x) HWY_ATTR {
    const V r = hn::Mul(hn::IfThenElseZero(hn::Lt(x, q), x), factor);
    const V gap = hn::MulAdd(hn::Sub(q, hn::Min(x, q)), factor, shift);
    const V t = hn::Div(hn::Set(d, 1.0f), gap);
    const V rt = hn::Mul(r, t);
    const V rt2 = hn::Mul(rt, t);
    value = hn::Add(value, rt);
    first = hn::Add(first, rt2);
    third = hn::MulAdd(rt2, t, third);
  });
  const auto total = [&](V v) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, v)); };
  return {total(value), total(first), total(third)};
}

// Computes psi at lam = (second + eta) / scale for the row times `scale`.
Psi psi_double(const float* in, std::size_t n, float second, float scale, double eta) {
  const D d;
  const DD dd;
  const hn::Half<D> half;
  const V q = hn::Set(d, second), factor = hn::Set(d, scale);
  const VD top = hn::Set(dd, static_cast<double>(second) * scale);
  const VD shift = hn::Set(dd, eta), one = hn::Set(dd, 1.0);
  VD value = hn::Zero(dd), first = hn::Zero(dd), third = hn::Zero(dd);
  const auto add = [&](VD r) HWY_ATTR {
    const VD t = hn::Div(one, hn::Add(hn::Sub(top, r), shift));
    const VD rt = hn::Mul(r, t);
    const VD rt2 = hn::Mul(rt, t);
    value = hn::Add(value, rt);
    first = hn::Add(first, rt2);
    third = hn::MulAdd(rt2, t, third);
  };
  each_vector(in, n, [&](V x) HWY_ATTR {
    const V r = hn::Mul(hn::IfThenElseZero(hn::Lt(x, q), x), factor);
    add(hn::PromoteTo(dd, hn::LowerHalf(half, r)));
    add(hn::PromoteTo(dd, hn::UpperHalf(half, r)));
  });
  const auto total = [&](VD v) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(dd, v)); };
  return {total(value), total(first), total(third)};
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(find_two);
HWY_EXPORT(sum_below);
HWY_EXPORT(psi_float);
HWY_EXPORT(psi_double);

namespace {

// Let p and q be the two largest, m the number of entries equal to q, and lam = q + eta. The
// secular equation is
//   p/(p - lam) = m q/eta + psi(lam).
// Multiplied by eta (p - lam) it has no poles on [0, p - q], is positive at 0 and negative at the
// end:
//   G(eta) = m q (w - eta) + psi eta (w - eta) - p eta, w = p - q.
// Halley's method on G converges cubically, and in one step if psi is 0.
class Secular {
 public:
  Secular(double p, double q, double equal) : p_(p), mq_(equal * q), width_(p - q), high_(width_) {}

  double width() const { return width_; }
  // Returns the root for psi = 0; psi >= 0 moves it up.
  double start() const { return width_ * mq_ / (p_ + mq_); }
  void widen() {
    low_ = 0;
    high_ = width_;
  }

  // Returns a better eta within the bracket, given psi at this one.
  double improve(double eta, const Psi& psi) {
    const double rest = width_ - eta;
    const double area = eta * rest, slope = rest - eta;
    const double g = mq_ * rest + psi.value * area - p_ * eta;
    const double g1 = -mq_ - p_ + psi.value * slope - psi.first * area;
    const double g2 = -2 * psi.value - 2 * psi.first * slope + 2 * psi.second * area;
    (g > 0 ? low_ : high_) = eta;
    const double step = -2 * g * g1 / (2 * g1 * g1 - g * g2);
    const double next = eta + step;
    // Relative to the distance to the poles.
    step_ = std::abs(step) / std::min(eta, rest);
    if (step_ < 1e-14 || (next > low_ && next < high_)) return next;
    step_ = 1;
    return 0.5 * (low_ + high_);
  }

  // Returns the length of improve()'s last Halley step, relative to the distance to the poles.
  double step() const { return step_; }

 private:
  double p_, mq_, width_;
  double low_ = 0, high_;
  double step_ = 1;
};

}  // namespace

TwoLargest two_largest(std::span<const float> values) {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(find_two)(values.data(), values.size());
}

double ridge_root(std::span<const float> r) {
  const TwoLargest largest = two_largest(r);
  if (largest.second == 0 || largest.first == largest.second) return largest.second;
  // Multiplies by a power of two, which is exact, so that the second largest is in [1, 2).
  const int exponent = std::clamp(-std::ilogb(largest.second), -126, 127);
  const float scale = std::ldexp(1.0f, exponent);
  const double p = static_cast<double>(largest.first) * scale;
  const double q = static_cast<double>(largest.second) * scale;
  const Below below = HWY_DYNAMIC_DISPATCH(sum_below)(r.data(), r.size(), largest.second, scale);
  Secular secular(p, q, below.equal);
  double eta = secular.start();
  if (below.sum > 0) {
    // psi is about S/(lam - S2/S) with the sums S and S2: exact to second order for large lam.
    const double pole = std::min(below.square / below.sum, q);
    for (int i = 0; i < 2; ++i) {
      const double t = 1 / (q + eta - pole);
      const double value = below.sum * t;
      eta = secular.improve(eta, {value, value * t, value * t * t});
    }
    secular.widen();
    for (int i = 0; i < 3; ++i) {
      eta = secular.improve(
          eta, HWY_DYNAMIC_DISPATCH(psi_float)(r.data(), r.size(), largest.second, scale, eta));
      if (secular.step() < 0.02) break;
    }
    // Signs may have been wrong in float32.
    secular.widen();
    for (int i = 0; i < 60; ++i) {
      eta = secular.improve(
          eta, HWY_DYNAMIC_DISPATCH(psi_double)(r.data(), r.size(), largest.second, scale, eta));
      // The error after this step is of order step^3.
      if (secular.step() < 2e-5) break;
    }
  }
  return (q + eta) / scale;
}

}  // namespace headgauge
#endif
