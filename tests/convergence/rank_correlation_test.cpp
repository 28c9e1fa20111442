#include "convergence/rank_correlation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace headgauge {
namespace {

using Values = std::vector<double>;

TEST(RankCorrelation, IsSpearmans) {
  Values x, y;
  for (int i = 0; i < 20; ++i) {
    x.push_back(i);
    y.push_back(std::exp(i));
  }
  EXPECT_DOUBLE_EQ(rank_correlation(x, y, 0, 0).value, 1.0);
  for (double& v : y) v = -v;
  const RankCorrelation down = rank_correlation(x, y, 0, 0);
  EXPECT_DOUBLE_EQ(down.value, -1.0);
  EXPECT_NEAR(down.low, -1.0, 1e-12);
  EXPECT_NEAR(down.high, -1.0, 1e-12);
}

TEST(RankCorrelation, GivesTiesTheMeanOfTheirRanks) {
  // Ranks 1.5 1.5 3 4 ... 16 against 2 1 3 4 ... 16; by the sums of squares of the textbook:
  // rho = (Sx + Sy - sum d^2) / (2 sqrt(Sx Sy)), Sx = (16^3 - 16)/12 - (2^3 - 2)/12.
  Values x, y;
  for (int i = 0; i < 16; ++i) {
    x.push_back(i < 2 ? 1 : i);
    y.push_back(i == 0 ? 1 : i == 1 ? 0 : i);
  }
  const double sx = 340 - 0.5, sy = 340, d2 = 0.5;
  EXPECT_NEAR(rank_correlation(x, y, 0, 0).value, (sx + sy - d2) / (2 * std::sqrt(sx * sy)), 1e-12);
}

TEST(RankCorrelation, LeavesOutWhatIsUndefinedAndIsSilentOnFewHeads) {
  Values x, y;
  for (int i = 0; i < 17; ++i) {
    x.push_back(i % 5);
    y.push_back((i * 7) % 11);
  }
  x[3] = kUndefined;
  EXPECT_EQ(rank_correlation(x, y, 0, 0).pairs, 16);
  EXPECT_FALSE(std::isnan(rank_correlation(x, y, 0, 0).value));
  y[4] = kUndefined;
  EXPECT_EQ(rank_correlation(x, y, 0, 0).pairs, 15);
  EXPECT_TRUE(std::isnan(rank_correlation(x, y, 0, 0).value));
  EXPECT_TRUE(std::isnan(rank_correlation(Values(20, 1.0), Values(20, 2.0), 0, 0).value));
}

// The interval of independent values holds 0 as often as it says.
TEST(RankCorrelation, IntervalHoldsTheTruthMostly) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  int held = 0;
  const int trials = 100;
  for (int trial = 0; trial < trials; ++trial) {
    Values x, y;
    for (int i = 0; i < 40; ++i) {
      x.push_back(normal(generator));
      y.push_back(normal(generator));
    }
    const RankCorrelation found = rank_correlation(x, y, 9, static_cast<std::uint32_t>(trial));
    EXPECT_LE(found.low, found.value);
    EXPECT_GE(found.high, found.value);
    held += found.low <= 0 && found.high >= 0 ? 1 : 0;
  }
  // 95 of 100 in the mean; 85 is more than 4 standard deviations below.
  EXPECT_GE(held, 86);
  EXPECT_LE(held, 99);
}

}  // namespace
}  // namespace headgauge
