// What the tests and intervals of this module have in common.
//
// A value that is not finite is missing: tests leave it out, paired ones with its partner, and say
// how many they used. With too few left, everything is undefined, so that a verdict "cannot tell"
// follows by itself. What only a mistake of the caller can cause (spans of different lengths, a
// level outside of (0, 1)) is a UsageError. The p of a test is exact, or too large, where its
// assumptions hold; tests/statistics draws 2000 worlds of each in which nothing is there to find.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// Which deviations from the null speak against it.
enum class Tail { both, above, below };

struct Interval {
  double low = kUndefined;
  double high = kUndefined;
};

// The degrees of freedom of an error that is known and not estimated: t is normal then.
inline constexpr double kKnownError = std::numeric_limits<double>::infinity();

// What a t test needs of a mean; batch means have it as well as samples do.
struct MeanWithError {
  double value = kUndefined;
  double standard_error = kUndefined;
  double degrees_of_freedom = kUndefined;  // of the error
};

// Of the finite values; undefined with fewer than 2.
MeanWithError mean_with_error(std::span<const double> values);

// first[i] - second[i] where both are finite.
std::vector<double> paired_differences(std::span<const double> first,
                                       std::span<const double> second);
std::vector<double> finite_values(std::span<const double> values);

// Throw UsageError.
void check_pairs(std::span<const double> first, std::span<const double> second);
void check_level(std::string_view what, double level);

}  // namespace headgauge
