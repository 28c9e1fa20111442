// From sums over a row to the gain of a step (docs/mathematics.md D4.2).
//
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
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace headgauge {

// Beyond this |x| a step is large. Below, rounding x to float32 costs e^x at most 1e-6.
constexpr double kLargeStep = 6.0;
// Squares that are not this part of the terms they were made of have lost too many digits.
constexpr double kKept = 1.0 / 16.0;

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

// Weights a_i = factor G_i for all keys but the first, and a of the first. `inverse` is 1/beta,
// which may be 0 or infinite.
struct Weights {
  Weights(double inverse, double mass)
      : factor(1 / (inverse + mass)),
        rest(factor * mass),
        first(std::isinf(inverse) ? 1.0 : inverse * factor) {}
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
  const Weights before(base.inverse, base.sums.mass);
  const Weights after(std::exp(lift), moved.mass);
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
