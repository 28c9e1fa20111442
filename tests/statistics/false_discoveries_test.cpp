#include "statistics/false_discoveries.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "statistics/student.hpp"
#include "statistics/worlds.hpp"

namespace headgauge {
namespace {

using Values = std::vector<double>;

TEST(FalseDiscoveries, AreThoseOfScipy) {
  const Values p{.9, .212, .205, .074, .06, .042, .041, .039, .008, .001};
  // stats.false_discovery_control(p)
  const Values expected{0.9,
                        0.23555555555555555,
                        0.23555555555555555,
                        0.1057142857142857,
                        0.1,
                        0.084,
                        0.084,
                        0.084,
                        0.04,
                        0.01};
  const Values adjusted = adjusted_p_values(p);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-15) << i;
}

TEST(FalseDiscoveries, LeaveOutWhatWasNotTested) {
  const Values adjusted = adjusted_p_values(Values{.01, kUndefined, .04});
  EXPECT_EQ(adjusted[0], .02);
  EXPECT_TRUE(std::isnan(adjusted[1]));
  EXPECT_EQ(adjusted[2], .04);
  EXPECT_TRUE(adjusted_p_values(Values{}).empty());
  EXPECT_THROW(adjusted_p_values(Values{1.5}), UsageError);
}

// Of `tests` tests the first `nulls` have nothing to find; the others are 3 errors away.
struct Discoveries {
  int all = 0, false_ones = 0, missed = 0;
};

Discoveries discoveries(World& w, Index nulls, Index tests, double together, double level) {
  const Values own = w.normals(tests);
  const double shared = w.normals(1)[0];
  Values p(tests);
  for (Index i = 0; i < tests; ++i) {
    const double z = std::sqrt(together) * shared + std::sqrt(1 - together) * own[i];
    p[i] = student_tail(z + (i < nulls ? 0 : 3), kKnownError);
  }
  const Values adjusted = adjusted_p_values(p);
  Discoveries found;
  for (Index i = 0; i < tests; ++i) {
    if (adjusted[i] <= level) {
      ++found.all;
      if (i < nulls) ++found.false_ones;
    } else if (i >= nulls) {
      ++found.missed;
    }
  }
  return found;
}

TEST(FalseDiscoveriesCalibration, HoldTheirRate) {
  // Of independent tests the rate is the level times the share of nulls, exactly.
  for (const double level : {.05, .2}) {
    double shares = 0, squares = 0, missed = 0;
    for (int number = 0; number < kWorlds; ++number) {
      World w(number);
      const Discoveries found = discoveries(w, 80, 100, 0, level);
      const double share = found.all == 0 ? 0 : static_cast<double>(found.false_ones) / found.all;
      shares += share / kWorlds;
      squares += share * share / kWorlds;
      missed += found.missed / 20.0 / kWorlds;
    }
    const double error = std::sqrt((squares - shares * shares) / kWorlds);
    EXPECT_NEAR(shares, .8 * level, 3 * error) << level;
    EXPECT_LT(missed, .6) << level;
  }
}

TEST(FalseDiscoveriesCalibration, FindSomethingInFewWorldsOfNulls) {
  for (const double together : {0., .5, .95}) {
    for (const double level : {.05, .01}) {
      const double share = share_of_worlds(
          [&](World& w) { return discoveries(w, 100, 100, together, level).all > 0; });
      EXPECT_LE(share, level + three_errors(level)) << together;
      if (together == 0) {
        EXPECT_GE(share, level - three_errors(level));
      }
    }
  }
}

}  // namespace
}  // namespace headgauge
