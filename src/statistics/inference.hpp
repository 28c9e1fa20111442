// Shared by the tests and confidence intervals of this module.
//
// A value that is not finite is missing. Tests leave it out, paired tests with its partner, and
// report how many values they used. If too few are left, all results are undefined, which gives the
// verdict "cannot tell". Mistakes of the caller (spans of different lengths, a level outside (0,
// 1)) throw UsageError. If its assumptions hold, a test's p-value is exact or too large;
// tests/statistics checks each test on 2000 data sets in which the null hypothesis is true.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// The direction of the deviations that count against the null hypothesis.
enum class Tail { both, above, below };

struct Interval {
  double low = kUndefined;
  double high = kUndefined;
};

// The degrees of freedom of a known standard error: the t distribution is then normal.
inline constexpr double kKnownError = std::numeric_limits<double>::infinity();

// The input of a t test for a mean, from batch means or from a sample.
struct MeanWithError {
  double value = kUndefined;
  double standard_error = kUndefined;
  double degrees_of_freedom = kUndefined;  // of the standard error
};

// Uses the finite values; undefined with fewer than 2.
MeanWithError mean_with_error(std::span<const double> values);

// Returns first[i] - second[i] for the pairs in which both are finite.
std::vector<double> paired_differences(std::span<const double> first,
                                       std::span<const double> second);
std::vector<double> finite_values(std::span<const double> values);

// Returns an interval that contains the true share with probability 1 - `level` or more, after
// `hits` of `trials` independent cases (Clopper and Pearson, Biometrika 26, 1934); undefined
// without cases.
Interval proportion_interval(Index hits, Index trials, double level = 0.05);

// Returns the slope of the unweighted least squares line of y on x. Undefined with fewer than 2
// points, or if all x are equal. Throws UsageError if the numbers of x and y differ.
double least_squares_slope(std::span<const double> x, std::span<const double> y);

// Throw UsageError if the arguments are invalid.
void check_pairs(std::span<const double> first, std::span<const double> second);
void check_level(std::string_view what, double level);

}  // namespace headgauge
