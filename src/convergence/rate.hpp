// The rate at which an error falls with the number of tokens: the exponent of error ~ n^-rate.
#pragma once

#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// Fewer points than this have no rate: with two parameters there must be something left to judge
// the fit by.
inline constexpr int kFewestRatePoints = 4;

struct RateFit {
  double rate = kUndefined;  // minus the slope of log(error) on log(n): positive where it falls
  double standard_error =
      kUndefined;  // from the scatter about the line, points - 2 degrees of freedom
  int points = 0;  // that the line goes through
  double degrees_of_freedom() const { return points > 2 ? points - 2 : kUndefined; }
  int under_floor = 0;  // left out: not above the floor
  int unusable = 0;     // left out: not finite, or not above 0
};

// Weighted least squares of log(error) on log(tokens) with weights 1/var, var = (deviation /
// sqrt(replicates) / error)^2, as in the public code of arXiv 2512.10656. `errors` are means over
// the replicates, `deviations` the standard deviations of one; where all of these are 0 (or there
// are none) the fit is unweighted. A point whose error does not exceed `floor`, the error of the
// reference itself, says nothing about the rate. Undefined with fewer than 4 points left, or all
// of one n.
RateFit fit_rate(std::span<const double> tokens, std::span<const double> errors,
                 std::span<const double> deviations, int replicates, double floor = 0);

}  // namespace headgauge
