#include "statistics/inference.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace headgauge {
namespace {

// P(X <= hits) for X binomial, summed term by term.
double at_most(Index hits, Index trials, double share) {
  double sum = 0;
  for (Index k = 0; k <= hits; ++k) {
    const auto n = static_cast<double>(trials), i = static_cast<double>(k);
    const double ways = std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1);
    sum += std::exp(ways + i * std::log(share) + (n - i) * std::log1p(-share));
  }
  return sum;
}

TEST(ProportionInterval, EndsWhereTheTailsAreHalfOfTheLevel) {
  for (const Index trials : {1, 2, 10, 50, 200}) {
    for (Index hits = 0; hits <= trials; hits += std::max<Index>(1, trials / 7)) {
      const Interval found = proportion_interval(hits, trials);
      if (hits > 0) {
        EXPECT_NEAR(1 - at_most(hits - 1, trials, found.low), 0.025, 1e-9);
      }
      if (hits < trials) {
        EXPECT_NEAR(at_most(hits, trials, found.high), 0.025, 1e-9);
      }
      EXPECT_EQ(found.low == 0, hits == 0);
      EXPECT_EQ(found.high == 1, hits == trials);
    }
  }
}

TEST(ProportionInterval, CoversTheShareAtLeastAsOftenAsItSays) {
  const Index trials = 40;
  for (const double share : {0.02, 0.3, 0.5, 0.95}) {
    double covered = 0;
    for (Index hits = 0; hits <= trials; ++hits) {
      const Interval found = proportion_interval(hits, trials);
      const double before = hits == 0 ? 0 : at_most(hits - 1, trials, share);
      if (found.low <= share && share <= found.high)
        covered += at_most(hits, trials, share) - before;
    }
    EXPECT_GE(covered, 0.95 - 1e-9) << share;
  }
}

TEST(ProportionInterval, IsUndefinedWithoutCases) {
  EXPECT_TRUE(std::isnan(proportion_interval(0, 0).low));
  EXPECT_TRUE(std::isnan(proportion_interval(0, 0).high));
}

double slope_of(std::vector<double> x, std::vector<double> y) {
  return least_squares_slope(x, y);
}

TEST(Slope, IsThatOfLeastSquares) {
  EXPECT_NEAR(slope_of({1, 2, 4}, {5, 7, 11}), 2, 1e-15);
  // numpy.polyfit([0, 1, 3, 7], [1, -1, 4, 2], 1)[0]
  EXPECT_NEAR(slope_of({0, 1, 3, 7}, {1, -1, 4, 2}), 0.2956521739130435, 1e-15);
}

TEST(Slope, IsUndefinedWithoutTwoPlaces) {
  EXPECT_TRUE(std::isnan(slope_of({}, {})));
  EXPECT_TRUE(std::isnan(slope_of({1}, {2})));
  EXPECT_TRUE(std::isnan(slope_of({3, 3}, {1, 2})));
  EXPECT_THROW(slope_of({1, 2}, {1}), UsageError);
}

}  // namespace
}  // namespace headgauge
