// Computes the gain of a step from sums over a row (docs/mathematics.md D4.2).
//
// The key of the largest logit, `first`, is kept apart from all sums, and the others are weighted
// relative to the largest among themselves: G_i = exp((l_i - l_second)/T), a_i = beta G_i / Z with
// beta = exp((l_second - l_first)/T), Z = 1 + beta sum G. A nearly one-hot row therefore stays
// precise however small 1 - max a is.
//
// Small steps: a'_i - a_i = a_i (e_i - D)/(1 + D), e_i = expm1(x_i), D = sum a_i e_i. A constant
// may be subtracted from all x_i. With x_i = (eps/T)(v_i - v_first - mu), mu the mean of v under a
// (0 if the first key has more than half), small steps need no difference of large numbers. Large
// steps: two softmaxes, whose difference is as large as they are. If precision is lost
// nevertheless, the gain is recomputed in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace headgauge {

// Beyond this |x| a step is large. Below it, rounding x to float32 changes e^x by at most 1e-6.
constexpr double kLargeStep = 6.0;
// Squares below this share of the terms they are computed from have lost too much precision.
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
  double inverse = 1;  // 1/beta; infinite if beta is 0
  BaseSums sums;
  double z() const { return 1 + beta * sums.mass; }
  double mu() const { return beta * sums.mass < 1 ? 0.0 : beta * sums.slope / z(); }
};

// Computes the gain of a small step, or NaN if too much precision was lost. `slope` is eps/T.
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

// Computes the change of the first key's weight. If it has more than half before and after, the
// change is what the other keys gain or lose.
inline double first_change(const Weights& before, const Weights& after) {
  return before.first > 0.5 && after.first > 0.5 ? before.rest - after.rest
                                                 : after.first - before.first;
}

// Computes the gain of a large step, or NaN if too much precision was lost. `gap` is l_first -
// l_second of the moved row.
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
