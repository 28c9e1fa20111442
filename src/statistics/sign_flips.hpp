// Many one-sided tests of the same units at once, by random sign flips (Fisher, The Design of
// Experiments, 1935, section 21; for the largest statistic of all tests: Westfall and Young,
// Resampling-Based Multiple Testing, 1993).
#pragma once

#include <cstdint>
#include <vector>

#include "headgauge/base.hpp"
#include "statistics/inference.hpp"

namespace headgauge {

struct SignFlipOptions {
  int flips = 2000;  // drawn; the observed signs count as one more
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;  // different for each family: equal streams draw the same signs
};

// Returns, for each column of `values` (units x tests), the p-value of the null hypothesis that its
// center is not above `null` (Tail::above), or not below it (Tail::below), adjusted for all
// columns. At level q the probability of any false finding is at most q, however the columns depend
// on each other. A column's statistic is Wilcoxon's, sum r / sqrt(sum r^2) of the signed ranks r of
// value - null, and one flip changes the signs of all values of a unit. Units must be independent
// and symmetric about their center; ranks limit the effect of outliers. Missing values are left
// out; p is undefined if fewer than 2 are left, and 1 if all equal the null. Throws UsageError for
// Tail::both.
std::vector<double> sign_flip_tests(MatrixView<const double> values, double null, Tail tail,
                                    const SignFlipOptions& options = {});

}  // namespace headgauge
