// Many one-sided tests of the same units at once, by flips of their signs (Fisher, The Design of
// Experiments, 1935, section 21; the largest statistic of all tests: Westfall and Young,
// Resampling-Based Multiple Testing, 1993).
#pragma once

#include <cstdint>
#include <vector>

#include "headgauge/base.hpp"
#include "statistics/inference.hpp"

namespace headgauge {

struct SignFlipOptions {
  int flips = 2000;  // drawn; the signs as they are count as one more
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;  // another for each family of tests: equal streams draw the same signs
};

// For each column of `values` (units x tests) the p of the null that its center is not above `null`
// (Tail::above), or not below it (Tail::below), adjusted for all columns: taken at a level q, the
// probability of any false finding is at most q, however the columns move together. A column's
// statistic is Wilcoxon's, sum r / sqrt(sum r^2) of the signed ranks r of value - null, and one
// flip changes the signs of all values of a unit. Units are independent of each other and symmetric
// about their center, and one that is far out counts as one that is farthest. Missing values are
// left out; p is undefined where fewer than 2 are left, and 1 where all lie on the null.
// UsageError for Tail::both.
std::vector<double> sign_flip_tests(MatrixView<const double> values, double null, Tail tail,
                                    const SignFlipOptions& options = {});

}  // namespace headgauge
