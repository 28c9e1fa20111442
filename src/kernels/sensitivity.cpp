#include "kernels/sensitivity.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

// One key, `first`, the largest logit, is kept apart from all sums, and the others are weighed
// against the largest among themselves: G_i = exp((l_i - l_second)/T), a_i = beta G_i / Z with
// beta = exp((l_second - l_first)/T), Z = 1 + beta sum G. So a row that is all but one-hot keeps
// its digits however small 1 - max a is.
//
// Small steps: a'_i - a_i = a_i (e_i - D)/(1 + D), e_i = expm1(x_i), D = sum a_i e_i. A constant
// may be taken off all x_i. x_i = (eps/T)(v_i - v_first - mu) with mu the mean of v under a (0
// where the first key has more than half) leaves no difference of large numbers in small steps.
// Large steps: two softmaxes, whose difference is as large as they are.
// Wherever digits were lost all the same, the gain is computed again in float64.

#ifndef HEADGAUGE_SENSITIVITY_SHARED
#define HEADGAUGE_SENSITIVITY_SHARED
namespace headgauge {

// Beyond this |x| a step is large. Below, rounding x to float32 costs e^x at most 1e-6.
constexpr double kLargeStep = 6.0;
// Squares that are not this part of the terms they were made of have lost too many digits.
constexpr double kKept = 1.0 / 16.0;

// A logit so far down that its weight is 0 at every temperature above 1e-20.
constexpr float kNoWeight = -1e30f;

struct Order {
  std::size_t first = 0;  // position of the largest logit
  float second = 0;       // the largest of the others
};
// Of v_i - v_first.
struct SlopeRange {
  float low = 0, high = 0;
};

// Sums over all keys but the first.
struct BaseSums {
  double mass = 0;    // sum G
  double square = 0;  // sum G^2
  double slope = 0;   // sum G w, w_i = v_i - v_first
};
struct SmallStepSums {  // in units of eps/T
  double mean = 0;      // sum G e
  double cross = 0;     // sum G^2 e
  double square = 0;    // sum (G e)^2
  double first = 0;     // e of the first key
};
struct LargeStepSums {
  double mass = 0;    // sum G'
  double square = 0;  // sum G'^2
  double cross = 0;   // sum G G'
};

// The row at one temperature.
struct Base {
  double temperature = 1;
  double beta = 1;     // exp((l_second - l_first)/T)
  double inverse = 1;  // 1/beta; infinite where beta is 0
  BaseSums sums;
  double z() const { return 1 + beta * sums.mass; }
  double mu() const { return beta * sums.mass < 1 ? 0.0 : beta * sums.slope / z(); }
};

// The gain of a small step, or NaN where too many digits were lost. `slope` is eps/T.
inline double small_gain(const Base& base, double slope, const SmallStepSums& e) {
  const double z = base.z();
  const double d = (e.first + base.beta * e.mean) / z;
  const double of_first = (e.first * base.sums.mass - e.mean) / z;  // (e_first - D) / beta
  const double terms = e.square + d * d * base.sums.square;
  const double square = of_first * of_first + terms - 2 * d * e.cross;
  if (!(square >= kKept * terms)) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(square) * base.beta / (z * base.temperature * (1 + slope * d));
}

// Weights a_i = factor G_i for all keys but the first, and a of the first.
struct Weights {
  Weights(double inverse, double beta, double mass)
      : factor(1 / (inverse + mass)), rest(factor * mass), first(1 / (1 + beta * mass)) {}
  double factor, rest, first;
};

// Change of the weight of the first key. Where it has the larger part before and after, that is
// what the others gain or lose.
inline double first_change(const Weights& before, const Weights& after) {
  return before.first > 0.5 && after.first > 0.5 ? before.rest - after.rest
                                                 : after.first - before.first;
}

// The gain of a large step, or NaN where too many digits were lost. `gap` is l_first - l_second of
// the moved row.
inline double large_gain(const Base& base, double gap, double epsilon, const LargeStepSums& moved) {
  const double lift = gap / base.temperature;
  const Weights before(base.inverse, base.beta, base.sums.mass);
  const Weights after(std::exp(lift), std::exp(-lift), moved.mass);
  const double unit = std::max(before.factor, after.factor);
  if (unit == 0) return 0.0;
  const double a = before.factor / unit, b = after.factor / unit;
  const double first = first_change(before, after) / unit;
  const double terms = a * a * base.sums.square + b * b * moved.square;
  const double square = first * first + terms - 2 * a * b * moved.cross;
  if (!(square >= kKept * terms)) return std::numeric_limits<double>::quiet_NaN();
  return unit * std::sqrt(square) / epsilon;
}

}  // namespace headgauge
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sensitivity.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HEADGAUGE_PLAIN

std::size_t stride() {
  return 1;
}

BaseSums weigh(const float* fall, const float* slope, std::size_t n, double temperature,
               float* weights) {
  BaseSums sums;
  for (std::size_t i = 0; i < n; ++i) {
    const double g = std::exp(fall[i] / temperature);
    weights[i] = static_cast<float>(g);
    sums.mass += g;
    sums.square += g * g;
    sums.slope += g * slope[i];
  }
  return sums;
}

SmallStepSums small_step(const float* weights, const float* slope, std::size_t n, double mu,
                         double step, double) {
  SmallStepSums sums;
  sums.first = std::expm1(-step * mu) / step;
  for (std::size_t i = 0; i < n; ++i) {
    const double e = std::expm1(step * (slope[i] - mu)) / step;
    const double p = weights[i] * e;
    sums.mean += p;
    sums.cross += weights[i] * p;
    sums.square += p * p;
  }
  return sums;
}

LargeStepSums large_step(const float* weights, const float* moved, std::size_t n,
                         double temperature) {
  LargeStepSums sums;
  for (std::size_t i = 0; i < n; ++i) {
    const double g = std::exp(moved[i] / temperature);
    sums.mass += g;
    sums.square += g * g;
    sums.cross += g * weights[i];
  }
  return sums;
}

Order find_order(const float* logits, std::size_t n) {
  Order order;
  std::size_t second = 1;
  if (logits[1] > logits[0]) std::swap(order.first, second);
  for (std::size_t i = 2; i < n; ++i) {
    if (logits[i] <= logits[second]) continue;
    second = i;
    if (logits[i] > logits[order.first]) std::swap(order.first, second);
  }
  order.second = logits[second];
  return order;
}

SlopeRange relative_to(const float* logits, const double* v, std::size_t n, Order order,
                       float* fall, float* slope) {
  SlopeRange range;
  for (std::size_t i = 0; i < n; ++i) {
    fall[i] = std::max(logits[i] - order.second, kNoWeight);
    slope[i] = static_cast<float>(v[i] - v[order.first]);
    range.low = std::min(range.low, slope[i]);
    range.high = std::max(range.high, slope[i]);
  }
  return range;
}

double exp_step(const float* logits, const double* v, std::size_t n, double step, double shift,
                double temperature, double* out) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = std::exp((logits[i] + step * v[i] - shift) / temperature);
    sum += out[i];
  }
  return sum;
}

double largest_step(const float* logits, const double* v, std::size_t n, double step) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, logits[i] + step * v[i]);
  return largest;
}

#else

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DD = hn::ScalableTag<double>;
using VD = hn::Vec<DD>;

HWY_INLINE std::size_t stride() {
  return hn::Lanes(D());
}

constexpr double kLog2E = 1.4426950408889634074;
// Adding it rounds to an integer, which then stands in the low bits.
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
// Powers of two below 2^kLowest are taken to be 0.
constexpr float kLowest = -52.0f;
// Started from this, sums of squares stay among the normal numbers, where processors are fast.
constexpr float kTiny = 1e-37f;

// N sums in float lanes, handed on to float64 lanes every kBlock vectors: a lane adds so few terms
// that its rounding stays below 1e-6.
constexpr std::size_t kBlock = 32;
template <int N>
struct LaneSums {
  V lane[N];
  VD total[N];
  float start;

  explicit HWY_INLINE LaneSums(float tiny) : start(tiny) {
    for (int k = 0; k < N; ++k) {
      lane[k] = hn::Set(D(), start);
      total[k] = hn::Zero(DD());
    }
  }
  HWY_INLINE void flush() {
    const hn::Half<D> half;
    const V tiny = hn::Set(D(), start);
    for (int k = 0; k < N; ++k) {
      const V sum = hn::Sub(lane[k], tiny);
      total[k] = hn::Add(total[k], hn::Add(hn::PromoteTo(DD(), hn::LowerHalf(half, sum)),
                                           hn::PromoteTo(DD(), hn::UpperHalf(half, sum))));
      lane[k] = tiny;
    }
  }
  HWY_INLINE double sum(int k) const { return hn::GetLane(hn::SumOfLanes(DD(), total[k])); }
};

// 2^k as a float, given k + kRound.
HWY_INLINE V power_of_two(V rounded) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::ShiftLeft<23>(hn::BitCast(du, rounded));
  return hn::BitCast(D(), hn::Add(bits, hn::BitCast(du, hn::Set(D(), 1.0f))));
}

// 2^(x scale), x <= 0. 2^f by a minimax polynomial of degree 5, relative error 9e-8.
HWY_INLINE V exp2_scaled(V x, V scale) {
  const D d;
  const V round = hn::Set(d, kRound);
  const V rounded = hn::MulAdd(x, scale, round);
  const V k = hn::Sub(rounded, round);
  const V f = hn::MulSub(x, scale, k);
  V p = hn::MulAdd(hn::Set(d, 0.0013264727f), f, hn::Set(d, 0.009671513f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.055507336f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.24022242f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.693147f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const auto normal = hn::Ge(k, hn::Set(d, kLowest));
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_maskz_scalef_ps(normal.raw, p.raw, k.raw)};
#else
  return hn::IfThenElseZero(normal, hn::Mul(p, power_of_two(rounded)));
#endif
}

// Calls body(i) for every vector of a row, and flushes the sums in time.
template <class Sums, class Body>
HWY_INLINE void each_vector(std::size_t n, Sums& sums, const Body& body) {
  const std::size_t lanes = hn::Lanes(D());
  for (std::size_t i = 0; i < n;) {
    const std::size_t end = std::min(n, i + kBlock * lanes);
    for (; i < end; i += lanes) body(i);
    sums.flush();
  }
}

// At least two logits.
Order find_order(const float* logits, std::size_t n) {
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
  Order order{0, first};
  const auto take = [&](float x) {
    order.second = std::max(order.second, std::min(first, x));
    first = std::max(first, x);
  };
  for (std::size_t i = 0; i < 2 * lanes; ++i) take(best[i]);
  for (std::size_t i = whole; i < n; ++i) take(logits[i]);
  const V top = hn::Set(d, first);
  for (; order.first < whole; order.first += lanes) {
    const auto found = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, logits + order.first), top));
    if (found >= 0) {
      order.first += static_cast<std::size_t>(found);
      return order;
    }
  }
  while (logits[order.first] != first) ++order.first;
  return order;
}

// l_i - l_second and v_i - v_first.
SlopeRange relative_to(const float* HWY_RESTRICT logits, const double* HWY_RESTRICT v,
                       std::size_t n, Order order, float* HWY_RESTRICT fall,
                       float* HWY_RESTRICT slope) {
  const D d;
  const DD dd;
  const hn::Half<D> half;
  const std::size_t lanes = hn::Lanes(d);
  const V second = hn::Set(d, order.second), least = hn::Set(d, kNoWeight);
  const VD of_first = hn::Set(dd, v[order.first]);
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
    fall[i] = std::max(logits[i] - order.second, kNoWeight);
    slope[i] = static_cast<float>(v[i] - v[order.first]);
    range.low = std::min(range.low, slope[i]);
    range.high = std::max(range.high, slope[i]);
  }
  return range;
}

HWY_INLINE BaseSums weigh(const float* HWY_RESTRICT fall, const float* HWY_RESTRICT slope,
                          std::size_t n, double temperature, float* HWY_RESTRICT weights) {
  const D d;
  const V scale = hn::Set(d, static_cast<float>(kLog2E / temperature));
  LaneSums<3> sums(kTiny);
  each_vector(n, sums, [&](std::size_t i) HWY_ATTR {
    const V g = exp2_scaled(hn::Load(d, fall + i), scale);
    hn::Store(g, d, weights + i);
    sums.lane[0] = hn::Add(sums.lane[0], g);
    sums.lane[1] = hn::MulAdd(g, g, sums.lane[1]);
    sums.lane[2] = hn::MulAdd(g, hn::Load(d, slope + i), sums.lane[2]);
  });
  return {sums.sum(0), sums.sum(1), sums.sum(2)};
}

HWY_INLINE LargeStepSums large_step(const float* HWY_RESTRICT weights,
                                    const float* HWY_RESTRICT moved, std::size_t n,
                                    double temperature) {
  const D d;
  const V scale = hn::Set(d, static_cast<float>(kLog2E / temperature));
  LaneSums<3> sums(kTiny);
  each_vector(n, sums, [&](std::size_t i) HWY_ATTR {
    const V g = exp2_scaled(hn::Load(d, moved + i), scale);
    sums.lane[0] = hn::Add(sums.lane[0], g);
    sums.lane[1] = hn::MulAdd(g, g, sums.lane[1]);
    sums.lane[2] = hn::MulAdd(g, hn::Load(d, weights + i), sums.lane[2]);
  });
  return {sums.sum(0), sums.sum(1), sums.sum(2)};
}

// expm1(step u)/(step unit), by polynomials in x = step u for expm1(x)/x of relative error 1e-7
// (minimax).
struct TinyStep {  // |x| <= 0.1
  static constexpr double kRange = 0.1;
  explicit TinyStep(double step) : step_(hn::Set(D(), static_cast<float>(step))) {}
  HWY_INLINE V operator()(V u) const {
    const D d;
    const V x = hn::Mul(u, step_);
    V p = hn::MulAdd(hn::Set(d, 0.041661903f), x, hn::Set(d, 0.16673571f));
    p = hn::MulAdd(p, x, hn::Set(d, 0.50000012f));
    return hn::Mul(u, hn::MulAdd(p, x, hn::Set(d, 1.0f)));
  }
  static constexpr double unit = 1;
  V step_;
};

struct MiddleStep {  // |x| <= 0.5
  static constexpr double kRange = 0.5;
  explicit MiddleStep(double step) : step_(hn::Set(D(), static_cast<float>(step))) {}
  HWY_INLINE V operator()(V u) const {
    const D d;
    const V x = hn::Mul(u, step_);
    V p = hn::MulAdd(hn::Set(d, 0.0013875752f), x, hn::Set(d, 0.0084023932f));
    p = hn::MulAdd(p, x, hn::Set(d, 0.04166897f));
    p = hn::MulAdd(p, x, hn::Set(d, 0.16666135f));
    p = hn::MulAdd(p, x, hn::Set(d, 0.49999982f));
    return hn::Mul(u, hn::MulAdd(p, x, hn::Set(d, 1.0f)));
  }
  static constexpr double unit = 1;
  V step_;
};

// |x| <= kLargeStep: 2^k (2^f - 1) + (2^k - 1), which loses no digits since k = 0 where |x| is
// small. 2^f - 1 = f P(f) with relative error 1e-8.
struct WideStep {
  explicit WideStep(double step)
      : unit(1 / step), scale_(hn::Set(D(), static_cast<float>(step * kLog2E))) {}
  HWY_INLINE V operator()(V u) const {
    const D d;
    const V round = hn::Set(d, kRound);
    const V rounded = hn::MulAdd(u, scale_, round);
    const V f = hn::MulSub(u, scale_, hn::Sub(rounded, round));
    V p = hn::MulAdd(hn::Set(d, 0.00015403512f), f, hn::Set(d, 0.0013390736f));
    p = hn::MulAdd(p, f, hn::Set(d, 0.0096182376f));
    p = hn::MulAdd(p, f, hn::Set(d, 0.055503573f));
    p = hn::MulAdd(p, f, hn::Set(d, 0.24022649f));
    p = hn::MulAdd(p, f, hn::Set(d, 0.69314718f));
    const V power = power_of_two(rounded);
    return hn::MulAdd(power, hn::Mul(f, p), hn::Sub(power, hn::Set(d, 1.0f)));
  }
  double unit;
  V scale_;
};

template <class Step>
HWY_INLINE SmallStepSums sum_steps(const float* HWY_RESTRICT weights,
                                   const float* HWY_RESTRICT slope, std::size_t n, double mu,
                                   const Step& step) {
  const D d;
  const V shift = hn::Set(d, static_cast<float>(mu));
  LaneSums<3> sums(kTiny);
  each_vector(n, sums, [&](std::size_t i) HWY_ATTR {
    const V g = hn::Load(d, weights + i);
    const V p = hn::Mul(g, step(hn::Sub(hn::Load(d, slope + i), shift)));
    sums.lane[0] = hn::Add(sums.lane[0], p);
    sums.lane[1] = hn::MulAdd(g, p, sums.lane[1]);
    sums.lane[2] = hn::MulAdd(p, p, sums.lane[2]);
  });
  return {step.unit * sums.sum(0), step.unit * sums.sum(1), step.unit * step.unit * sums.sum(2),
          step.unit * hn::GetLane(step(hn::Neg(shift)))};
}

HWY_INLINE SmallStepSums small_step(const float* weights, const float* slope, std::size_t n,
                                    double mu, double step, double largest) {
  if (largest <= TinyStep::kRange) return sum_steps(weights, slope, n, mu, TinyStep(step));
  if (largest <= MiddleStep::kRange) return sum_steps(weights, slope, n, mu, MiddleStep(step));
  return sum_steps(weights, slope, n, mu, WideStep(step));
}

// (l_i + step v_i), the lanes beyond n being `other`.
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

#endif  // HEADGAUGE_PLAIN

// A row being worked on. All arrays of the workspace are filled up to a multiple of stride() with
// keys of no weight.
class RowGains {
 public:
  RowGains(const float* logits, const double* v, std::size_t n, SensitivityWorkspace& work)
      : logits_(logits),
        v_(v),
        n_(n),
        padded_((n + stride() - 1) / stride() * stride()),
        work_(work) {
    work.fall.resize(padded_);
    work.slope.resize(padded_);
    // Weights at this temperature and at the next.
    work.weights.resize(2 * padded_);
    order_ = find_order(logits, n);
    range_ = relative_to(logits, v, n, order_, work.fall.data(), work.slope.data());
    work.fall[order_.first] = kNoWeight;
    std::fill(work.fall.begin() + n, work.fall.end(), kNoWeight);
    std::fill(work.slope.begin() + n, work.slope.end(), 0.0f);
  }

  void run(const double* temperatures, std::size_t temperature_count, const double* epsilons,
           std::size_t epsilon_count, double* gains) {
    work_.gap.assign(epsilon_count, std::numeric_limits<double>::quiet_NaN());
    work_.moved.resize(padded_ * epsilon_count);
    // A temperature ahead, so that the sums are there when they are needed.
    Base next = weigh_at(temperatures[0], 0);
    for (std::size_t t = 0; t < temperature_count; ++t) {
      const Base base = next;
      const float* weights = work_.weights.data() + t % 2 * padded_;
      if (t + 1 < temperature_count) next = weigh_at(temperatures[t + 1], (t + 1) % 2);
      const double mu = base.mu();
      const double widest = std::max(range_.high - mu, mu - range_.low);
      for (std::size_t e = 0; e < epsilon_count; ++e) {
        const double step = epsilons[e] / base.temperature;
        double gain;
        if (step * widest <= kLargeStep) {
          gain =
              small_gain(base, step,
                         small_step(weights, work_.slope.data(), padded_, mu, step, step * widest));
        } else {
          const float* moved = move(e, epsilons[e]);
          gain = large_gain(base, work_.gap[e], epsilons[e],
                            large_step(weights, moved, padded_, base.temperature));
        }
        if (std::isnan(gain)) gain = gain_in_float64(epsilons[e], base.temperature);
        *gains++ = gain;
      }
    }
  }

 private:
  Base weigh_at(double temperature, std::size_t buffer) {
    Base base;
    base.temperature = temperature;
    base.beta =
        std::exp((static_cast<double>(order_.second) - logits_[order_.first]) / temperature);
    base.inverse = 1 / base.beta;
    base.sums = weigh(work_.fall.data(), work_.slope.data(), padded_, temperature,
                      work_.weights.data() + buffer * padded_);
    return base;
  }

  // The row moved by eps, once for all temperatures.
  const float* move(std::size_t e, double epsilon) {
    float* HWY_RESTRICT moved = work_.moved.data() + e * padded_;
    if (!std::isnan(work_.gap[e])) return moved;
    const std::size_t first = order_.first;
    const double largest =
        std::max(largest_step(logits_, v_, first, epsilon),
                 largest_step(logits_ + first + 1, v_ + first + 1, n_ - first - 1, epsilon));
    for (std::size_t i = 0; i < n_; ++i) {
      moved[i] =
          static_cast<float>(std::max<double>(logits_[i] + epsilon * v_[i] - largest, kNoWeight));
    }
    moved[first] = kNoWeight;
    std::fill(moved + n_, moved + padded_, kNoWeight);
    work_.gap[e] = logits_[first] + epsilon * v_[first] - largest;
    return moved;
  }

  double gain_in_float64(double epsilon, double temperature) {
    ++work_.recomputed;
    const std::size_t first = order_.first;
    work_.base64.resize(n_);
    work_.moved64.resize(n_);
    double* HWY_RESTRICT a = work_.base64.data();
    double* HWY_RESTRICT b = work_.moved64.data();
    const double shift = largest_step(logits_, v_, n_, epsilon);
    exp_step(logits_, v_, n_, 0.0, logits_[first], temperature, a);
    exp_step(logits_, v_, n_, epsilon, shift, temperature, b);
    const double first_before = a[first], first_after = b[first];
    a[first] = b[first] = 0;
    double mass_before = 0, mass_after = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      mass_before += a[i];
      mass_after += b[i];
    }
    const double z = first_before + mass_before, z_after = first_after + mass_after;
    Weights before(first_before, 0, mass_before), after(first_after, 0, mass_after);
    before.first = first_before / z;
    after.first = first_after / z_after;
    double square = first_change(before, after) * first_change(before, after);
    for (std::size_t i = 0; i < n_; ++i) {
      const double change = b[i] * after.factor - a[i] * before.factor;
      square += change * change;
    }
    return std::sqrt(square) / epsilon;
  }

  const float* logits_;
  const double* v_;
  std::size_t n_, padded_;
  SensitivityWorkspace& work_;
  Order order_;
  SlopeRange range_;
};

void row_gains(const float* logits, const double* v, std::size_t n, const double* temperatures,
               std::size_t temperature_count, const double* epsilons, std::size_t epsilon_count,
               SensitivityWorkspace& work, double* gains) {
  RowGains(logits, v, n, work).run(temperatures, temperature_count, epsilons, epsilon_count, gains);
}

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(row_gains);

void softmax_sensitivity(std::span<const float> logits, std::span<const double> v,
                         std::span<const double> temperatures, std::span<const double> epsilons,
                         SensitivityWorkspace& work, std::span<double> gains) {
  assert(gains.size() == temperatures.size() * epsilons.size() && v.size() == logits.size());
  ensure_simd_level();
  if (logits.size() < 2) {
    std::ranges::fill(gains, 0.0);
    return;
  }
  HWY_DYNAMIC_DISPATCH(row_gains)
  (logits.data(), v.data(), logits.size(), temperatures.data(), temperatures.size(),
   epsilons.data(), epsilons.size(), work, gains.data());
}

}  // namespace headgauge
#endif
