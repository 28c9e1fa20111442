// The rate at which an error falls with the number of tokens, the exponent in error ~ n^-rate, and
// the horizon of a head (docs/mathematics.md D5.3), which determines it: the spread of the head's
// logits over the tokens.
#pragma once

#include <span>

#include "headgauge/base.hpp"
#include "headgauge/heads.hpp"

namespace headgauge {

// The fewest points for a rate: with two parameters, some points must remain to judge the fit.
inline constexpr int kFewestRatePoints = 4;

struct RateFit {
  double rate = kUndefined;  // minus the slope of log(error) against log(n): positive if the error
                             // falls
  double standard_error =
      // from the residuals of the line, with points - 2 degrees of freedom
      kUndefined;
  int points = 0;  // points used in the fit
  double degrees_of_freedom() const { return points > 2 ? points - 2 : kUndefined; }
  int under_floor = 0;  // points left out because they are not above the floor
  int unusable = 0;     // points left out because they are not finite or not above 0
};

// Fits log(error) against log(tokens) by weighted least squares with weights 1/var, var =
// (deviation / sqrt(replicates) / error)^2, as in the public code of arXiv 2512.10656. `errors` are
// means over the replicates, `deviations` the standard deviations of one replicate; if these are
// all 0 or absent, the fit is unweighted. Leaves out a point whose error is at most `floor`, the
// error of the reference itself. The rate is undefined with fewer than 4 points, or if all have the
// same n.
RateFit fit_rate(std::span<const double> tokens, std::span<const double> errors,
                 std::span<const double> deviations, int replicates, double floor = 0);

// Returns sqrt(lambda_max(Cov(q) Cov(k))) over the rows of both (L x d each, population
// normalisation): the horizon of the paper's code. Multiplied by the head's scale it is H_eff. 0 if
// all queries or all keys are equal.
double query_key_spread(MatrixView<const float> queries, MatrixView<const float> keys);

// Returns the rate that paper B predicts (T5.2): beta = 1 / (2 (1 + H^2)).
double predicted_rate(double horizon);

}  // namespace headgauge
