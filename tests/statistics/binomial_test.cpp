#include "statistics/binomial.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "statistics/worlds.hpp"

namespace headgauge {
namespace {

TEST(Binomial, IsThatOfScipy) {
  // stats.binomtest(7, 20, .2, alternative="greater" and "less")
  EXPECT_NEAR(share_test(7, 20, .2, Tail::above).p, 0.08669251356740035, 1e-14);
  EXPECT_NEAR(share_test(7, 20, .2, Tail::below).p, 0.9678573369191248, 1e-14);
  EXPECT_NEAR(share_test(7, 20, .2).p, 2 * 0.08669251356740035, 1e-14);
  EXPECT_EQ(share_test(7, 20, .2).share, .35);
  EXPECT_EQ(share_test(0, 5, .3, Tail::above).p, 1);
  EXPECT_EQ(share_test(5, 5, .3, Tail::below).p, 1);
  EXPECT_EQ(share_test(0, 5, 0).p, 1);
  EXPECT_EQ(share_test(1, 5, 0, Tail::above).p, 0);
  EXPECT_EQ(share_test(5, 5, 1).p, 1);
}

TEST(Binomial, HasClopperAndPearsonsInterval) {
  // stats.binomtest(7, 20).proportion_ci(.95, method="exact")
  const Interval found = share_interval(7, 20);
  EXPECT_NEAR(found.low, 0.1539092047845412, 1e-13);
  EXPECT_NEAR(found.high, 0.5921885345328283, 1e-13);
  EXPECT_EQ(share_interval(0, 5).low, 0);
  EXPECT_NEAR(share_interval(0, 5).high, 0.5218237501049814, 1e-13);
  EXPECT_NEAR(share_interval(5, 5).low, 0.47817624989501856, 1e-13);
  EXPECT_EQ(share_interval(5, 5).high, 1);
}

TEST(Binomial, IsUndefinedOfNoTrials) {
  EXPECT_TRUE(std::isnan(share_test(0, 0, .5).p));
  EXPECT_TRUE(std::isnan(share_interval(0, 0).low));
  EXPECT_THROW(share_test(3, 2, .5), UsageError);
  EXPECT_THROW(share_test(-1, 2, .5), UsageError);
  EXPECT_THROW(share_test(1, 2, 1.5), UsageError);
  EXPECT_THROW(share_interval(1, 2, 0), UsageError);
}

TEST(BinomialCalibration, RejectsNoMoreThanItSays) {
  for (const Tail tail : {Tail::both, Tail::above, Tail::below}) {
    expect_level([=](World& w) { return share_test(w.successes(144, .3), 144, .3, tail).p; },
                 Level::conservative);
  }
  // Few trials: at 16 heads and a share of 5 % the level is used up in part only.
  const double share = share_of_worlds(
      [](World& w) { return share_test(w.successes(16, .05), 16, .05, Tail::above).p <= .05; });
  EXPECT_NEAR(share, 0.0429, three_errors(0.0429)) << "stats.binom.sf(2, 16, .05)";
}

TEST(BinomialCalibration, IntervalsHoldTheTruthAtLeastSoOften) {
  const double missed = share_of_worlds([](World& w) {
    const Interval found = share_interval(w.successes(40, .3), 40);
    return found.low > .3 || found.high < .3;
  });
  EXPECT_LE(missed, .05 + three_errors(.05));
  EXPECT_GE(missed, .01);
}

TEST(BinomialCalibration, FindsWhatIsThere) {
  EXPECT_GT(share_of_worlds([](World& w) {
              return share_test(w.successes(144, .15), 144, .05, Tail::above).p < .05;
            }),
            .95);
}

}  // namespace
}  // namespace headgauge
