#include "kernels/sensitivity.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/sensitivity_row.hpp"
#include "kernels/sensitivity_sums.hpp"
#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sensitivity.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DD = hn::ScalableTag<double>;
using VD = hn::Vec<DD>;

HWY_INLINE std::size_t stride() {
  return hn::Lanes(D());
}

constexpr double kLog2OfE = 1.4426950408889634074;
// Adding it rounds to an integer, which is then in the low bits.
constexpr float kRoundingShift = 12582912.0f;  // 1.5 * 2^23
// Powers of two below 2^kLowestPower count as 0.
constexpr float kLowestPower = -52.0f;

// N sums in float lanes, moved to float64 lanes every kVectorsOfFloats vectors: a lane adds so few
// terms that its rounding error stays below 1e-6.
constexpr std::size_t kVectorsOfFloats = 32;
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

// Returns 2^k as a float, given k + kRoundingShift.
HWY_INLINE V power_of_two(V rounded) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::ShiftLeft<23>(hn::BitCast(du, rounded));
  return hn::BitCast(D(), hn::Add(bits, hn::BitCast(du, hn::Set(D(), 1.0f))));
}

// Computes 2^(x scale), x <= 0. 2^f is a minimax polynomial of degree 5, relative error 9e-8.
HWY_INLINE V exp2_scaled(V x, V scale) {
  const D d;
  const V round = hn::Set(d, kRoundingShift);
  const V rounded = hn::MulAdd(x, scale, round);
  const V k = hn::Sub(rounded, round);
  const V f = hn::MulSub(x, scale, k);
  V p = hn::MulAdd(hn::Set(d, 0.0013264727f), f, hn::Set(d, 0.009671513f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.055507336f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.24022242f));
  p = hn::MulAdd(p, f, hn::Set(d, 0.693147f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const auto normal = hn::Ge(k, hn::Set(d, kLowestPower));
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_maskz_scalef_ps(normal.raw, p.raw, k.raw)};
#else
  return hn::IfThenElseZero(normal, hn::Mul(p, power_of_two(rounded)));
#endif
}

// Calls body(i) for every vector of a row, and moves the float sums to float64 in time.
template <class Sums, class Body>
HWY_INLINE void each_vector(std::size_t n, Sums& sums, const Body& body) {
  const std::size_t lanes = hn::Lanes(D());
  for (std::size_t i = 0; i < n;) {
    const std::size_t end = std::min(n, i + kVectorsOfFloats * lanes);
    for (; i < end; i += lanes) body(i);
    sums.flush();
  }
}

HWY_INLINE BaseSums weigh(const float* HWY_RESTRICT fall, const float* HWY_RESTRICT slope,
                          std::size_t n, double temperature, float* HWY_RESTRICT weights) {
  const D d;
  const V scale = hn::Set(d, static_cast<float>(kLog2OfE / temperature));
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
  const V scale = hn::Set(d, static_cast<float>(kLog2OfE / temperature));
  LaneSums<3> sums(kTiny);
  each_vector(n, sums, [&](std::size_t i) HWY_ATTR {
    const V g = exp2_scaled(hn::Load(d, moved + i), scale);
    sums.lane[0] = hn::Add(sums.lane[0], g);
    sums.lane[1] = hn::MulAdd(g, g, sums.lane[1]);
    sums.lane[2] = hn::MulAdd(g, hn::Load(d, weights + i), sums.lane[2]);
  });
  return {sums.sum(0), sums.sum(1), sums.sum(2)};
}

// Compute expm1(step u)/(step unit), by minimax polynomials in x = step u for expm1(x)/x of
// relative error 1e-7.
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

// Valid for |x| <= kLargeStep: 2^k (2^f - 1) + (2^k - 1) loses no precision, since k = 0 for small
// |x|. 2^f - 1 = f P(f) with relative error 1e-8.
struct WideStep {
  explicit WideStep(double step)
      : unit(1 / step), scale_(hn::Set(D(), static_cast<float>(step * kLog2OfE))) {}
  HWY_INLINE V operator()(V u) const {
    const D d;
    const V round = hn::Set(d, kRoundingShift);
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

// The row being processed. All arrays of the workspace are padded to a multiple of stride() with
// keys of no weight.
class RowGains {
 public:
  RowGains(std::span<const float> logits, std::span<const double> v, SensitivityWorkspace& work)
      : logits_(logits),
        v_(v),
        padded_((logits.size() + stride() - 1) / stride() * stride()),
        work_(work),
        largest_(find_largest(logits)) {
    const std::size_t n = logits.size();
    work.fall.resize(padded_);
    work.slope.resize(padded_);
    // Holds weights at this temperature and at the next.
    work.weights.resize(2 * padded_);
    range_ = start_row(logits, v, largest_, std::span(work.fall).first(n),
                       std::span(work.slope).first(n));
    std::fill(work.fall.begin() + static_cast<Index>(n), work.fall.end(), kNoWeight);
    std::fill(work.slope.begin() + static_cast<Index>(n), work.slope.end(), 0.0f);
  }

  void run(std::span<const double> temperatures, std::span<const double> epsilons,
           std::span<double> gains) {
    work_.gap.assign(epsilons.size(), std::numeric_limits<double>::quiet_NaN());
    work_.moved.resize(padded_ * epsilons.size());
    std::size_t cell = 0;
    // Computes one temperature ahead, so that the sums are ready when they are needed.
    Base next = weigh_at(temperatures[0], 0);
    for (std::size_t t = 0; t < temperatures.size(); ++t) {
      const Base base = next;
      const float* weights = work_.weights.data() + t % 2 * padded_;
      if (t + 1 < temperatures.size()) next = weigh_at(temperatures[t + 1], (t + 1) % 2);
      const double mu = base.mu();
      const double widest = std::max(range_.high - mu, mu - range_.low);
      for (std::size_t e = 0; e < epsilons.size(); ++e) {
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
        if (std::isnan(gain)) {
          ++work_.recomputed;
          gain = gain_in_float64(logits_, v_, largest_.first, base.temperature, epsilons[e],
                                 work_.base64, work_.moved64);
        }
        gains[cell++] = gain;
      }
    }
  }

 private:
  Base weigh_at(double temperature, std::size_t buffer) {
    Base base;
    base.temperature = temperature;
    base.beta =
        std::exp((static_cast<double>(largest_.second) - logits_[largest_.first]) / temperature);
    base.inverse = 1 / base.beta;
    base.sums = weigh(work_.fall.data(), work_.slope.data(), padded_, temperature,
                      work_.weights.data() + buffer * padded_);
    return base;
  }

  // Returns the row moved by eps, computed once for all temperatures.
  const float* move(std::size_t e, double epsilon) {
    const auto moved = std::span(work_.moved).subspan(e * padded_, padded_);
    if (std::isnan(work_.gap[e])) {
      work_.gap[e] = move_row(logits_, v_, epsilon, largest_.first, moved.first(logits_.size()));
      std::fill(moved.begin() + std::ssize(logits_), moved.end(), kNoWeight);
    }
    return moved.data();
  }

  std::span<const float> logits_;
  std::span<const double> v_;
  std::size_t padded_;
  SensitivityWorkspace& work_;
  LargestLogits largest_;
  SlopeRange range_;
};

void row_gains(std::span<const float> logits, std::span<const double> v,
               std::span<const double> temperatures, std::span<const double> epsilons,
               SensitivityWorkspace& work, std::span<double> gains) {
  RowGains(logits, v, work).run(temperatures, epsilons, gains);
}

}  // namespace
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
  if (gains.empty() || logits.size() < 2) {
    std::ranges::fill(gains, 0.0);
    return;
  }
  HWY_DYNAMIC_DISPATCH(row_gains)(logits, v, temperatures, epsilons, work, gains);
}

}  // namespace headgauge
#endif
