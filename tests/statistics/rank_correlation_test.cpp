#include "statistics/rank_correlation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "statistics/worlds.hpp"

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

TEST(RankCorrelation, HasThePOfScipy) {
  Values x, y;
  for (int i = 0; i < 18; ++i) {
    x.push_back((i * 7) % 19);
    y.push_back((i * 5) % 13 + i * .3);
  }
  const RankCorrelation found = rank_correlation(x, y, 0, 0);  // stats.spearmanr(x, y)
  EXPECT_NEAR(found.value, 0.27966976264189886, 1e-13);
  EXPECT_NEAR(found.p, 0.26102647706844145, 1e-13);
  for (double& v : x) v = std::floor(v / 3);
  const RankCorrelation ties = rank_correlation(x, y, 0, 0);
  EXPECT_NEAR(ties.value, 0.25249298043357976, 1e-13);
  EXPECT_NEAR(ties.p, 0.3120965013351131, 1e-13);
  EXPECT_EQ(rank_correlation(x, x, 0, 0).p, 0);
}

// numpy: the 2.5 and 97.5 % points over the same resamples, ranked one by one.
TEST(RankCorrelation, HasTheIntervalOfItsResamples) {
  Values x, y;
  for (int i = 0; i < 18; ++i) {
    x.push_back((i * 7) % 19);
    y.push_back((i * 5) % 13 + i * .3);
  }
  const RankCorrelation found = rank_correlation(x, y, 11, 3);
  EXPECT_NEAR(found.low, -0.3014030114002541, 1e-12);
  EXPECT_NEAR(found.high, 0.7337841993532129, 1e-12);
  for (double& v : x) v = std::floor(v / 3);
  const RankCorrelation ties = rank_correlation(x, y, 11, 3);
  EXPECT_NEAR(ties.low, -0.330505628037284, 1e-12);
  EXPECT_NEAR(ties.high, 0.7191362744786302, 1e-12);
}

TEST(RankCorrelation, TakesPairs) {
  EXPECT_THROW(rank_correlation(Values(20, 1), Values(19, 1), 0, 0), UsageError);
}

TEST(PartialRankCorrelation, IsThatOfTheResidualsOfTheRanks) {
  Values x, y, z;
  for (int i = 0; i < 18; ++i) {
    x.push_back((i * 7) % 19);
    y.push_back((i * 5) % 13 + i * .3);
    z.push_back((i * 11) % 17);
  }
  // numpy: the correlation of what lstsq leaves of the ranks of x and y on those of z.
  const RankCorrelation found = partial_rank_correlation(x, y, z, 0, 0);
  EXPECT_NEAR(found.value, 0.2798551234741225, 1e-13);
  EXPECT_TRUE(std::isnan(found.p));
  for (double& v : x) v = std::floor(v / 3);
  EXPECT_NEAR(partial_rank_correlation(x, y, z, 0, 0).value, 0.25295080436300577, 1e-13);
  EXPECT_TRUE(std::isnan(partial_rank_correlation(Values(18, 1), y, z, 0, 0).value));
  z[2] = kUndefined;
  EXPECT_EQ(partial_rank_correlation(x, y, z, 0, 0).pairs, 17);
  z[3] = z[4] = kUndefined;
  EXPECT_TRUE(std::isnan(partial_rank_correlation(x, y, z, 0, 0).value)) << "15 of them";
  EXPECT_THROW(partial_rank_correlation(y, y, Values(17, 1), 0, 0), UsageError);
}

TEST(PartialRankCorrelation, SaysNothingWhereTheThirdTellsAll) {
  const Values x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  Values y;
  for (const double v : x) y.push_back(std::fmod(v * 5, 17));
  EXPECT_TRUE(std::isnan(partial_rank_correlation(x, y, x, 0, 0).value));
}

// x and y move with z and have nothing else in common.
TEST(PartialRankCorrelationCalibration, FindsNothingWhereNothingIs) {
  int missed = 0, plain = 0;
  for (int number = 0; number < kWorlds; ++number) {
    World w(number);
    const Values z = w.normals(36);
    Values x = w.normals(36), y = w.normals(36);
    for (std::size_t i = 0; i < z.size(); ++i) {
      x[i] += z[i];
      y[i] -= z[i];
    }
    const auto stream = static_cast<std::uint32_t>(number);
    const RankCorrelation found = partial_rank_correlation(x, y, z, 9, stream);
    missed += found.low > 0 || found.high < 0 ? 1 : 0;
    plain += rank_correlation(x, y, 9, stream).p <= .05 ? 1 : 0;
  }
  EXPECT_NEAR(missed / double{kWorlds}, .05, three_errors(.05));
  EXPECT_GT(plain / double{kWorlds}, .5);
}

// One run over the worlds for p and interval, as the interval costs 2000 resamples each.
TEST(RankCorrelationCalibration, FindsNothingWhereNothingIs) {
  int at_5 = 0, at_1 = 0, missed = 0;
  for (int number = 0; number < kWorlds; ++number) {
    World w(number);
    const RankCorrelation found =
        rank_correlation(w.normals(36), w.normals(36), 9, static_cast<std::uint32_t>(number));
    EXPECT_LE(found.low, found.value);
    EXPECT_GE(found.high, found.value);
    at_5 += found.p <= .05 ? 1 : 0;
    at_1 += found.p <= .01 ? 1 : 0;
    missed += found.low > 0 || found.high < 0 ? 1 : 0;
  }
  EXPECT_NEAR(at_5 / double{kWorlds}, .05, three_errors(.05));
  EXPECT_NEAR(at_1 / double{kWorlds}, .01, three_errors(.01));
  EXPECT_NEAR(missed / double{kWorlds}, .05, three_errors(.05));
}

}  // namespace
}  // namespace headgauge
