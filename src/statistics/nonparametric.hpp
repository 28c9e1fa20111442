// Tests that assume no distribution of the values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/base.hpp"
#include "statistics/inference.hpp"

namespace headgauge {

// Many one-sided tests of the same units at once, by random sign flips (Fisher, The Design of
// Experiments, 1935, section 21; for the largest statistic of all tests: Westfall and Young,
// Resampling-Based Multiple Testing, 1993).

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

// Wilcoxon's signed-rank test (Biometrics Bulletin 1, 1945). It uses the ranks of the differences,
// so that a single head with a huge change has little influence.
//
// It assumes that the differences are independent and, under the null hypothesis, symmetric.

// Largest number of differences for which the distribution is enumerated.
inline constexpr int kExactSignedRanks = 50;

struct WilcoxonTest {
  double statistic = kUndefined;  // sum of the ranks of the differences above the null
  double p = kUndefined;
  int differences = 0;  // number of differences other than 0
  bool exact = true;
};

// Equal differences share the mean of their ranks. The enumeration covers all signs of these
// midranks, so it is exact with ties too. Beyond kExactSignedRanks differences it uses the normal
// approximation with corrections for ties and continuity. Undefined if all differences are 0.
WilcoxonTest wilcoxon_test(std::span<const double> values, double null = 0, Tail tail = Tail::both);

// The two-sample Kolmogorov-Smirnov test (Smirnov, Annals of Mathematical Statistics 19, 1948), as
// paper A uses it. It assumes that the two samples are independent.

// Computes D = sup |F1 - F2| of two samples.
double ks_distance(std::vector<double> first, std::vector<double> second);
// Computes Q(x) = 2 sum_{k >= 1} (-1)^(k-1) exp(-2 k^2 x^2), the tail of the Kolmogorov
// distribution. It is written here because Boost.Math has it only from 1.75 on, and Debian 12 has
// 1.74.
double kolmogorov_tail(double x);
// Returns the asymptotic p-value of D for samples of n and m values, without correction.
double ks_probability(double d, std::size_t n, std::size_t m);

}  // namespace headgauge
