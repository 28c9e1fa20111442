#include "statistics/equivalence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "statistics/worlds.hpp"

namespace headgauge {
namespace {

using Values = std::vector<double>;

const Values kTried{3.1, 2.9, 3.4, 3.0, 3.3, 2.8, 3.2};
const Values kAgainst{3.0, 3.0, 3.3, 3.1, 3.2, 2.9, 3.1};

// d = log(first) - log(second), m = log1p(margin):
// stats.ttest_1samp(d, -m, alternative="greater"), stats.ttest_1samp(d, m, alternative="less")
TEST(Equivalence, IsTwoOneSidedTestsOfScipy) {
  const Equivalence wide = relative_equivalence_test(kTried, kAgainst, .05);
  EXPECT_NEAR(wide.p_low, 0.00374982986082062, 1e-13);
  EXPECT_NEAR(wide.p_high, 0.0068359048596831375, 1e-13);
  EXPECT_EQ(wide.p, wide.p_high);
  EXPECT_NEAR(wide.estimate, 1.0033456483215757, 1e-14);
  EXPECT_EQ(wide.values, 7);
  EXPECT_NEAR(relative_equivalence_test(kTried, kAgainst, .03).p, 0.0469323285576675, 1e-13);
}

// stats.wilcoxon(d + m, alternative="greater", method=PermutationMethod(n_resamples=np.inf)), and
// of d - m, "less".
TEST(Equivalence, OfSignedRanksToo) {
  const Equivalence found = relative_equivalence_test(kTried, kAgainst, .03, PairedTest::wilcoxon);
  EXPECT_NEAR(found.p_low, 0.109375, 1e-14);
  EXPECT_NEAR(found.p_high, 0.2890625, 1e-14);
  EXPECT_NEAR(found.estimate, 1.0303030303030303, 1e-14);
}

TEST(Equivalence, DoesNotCareWhichIsFirst) {
  const Equivalence one = relative_equivalence_test(kTried, kAgainst, .04);
  const Equivalence other = relative_equivalence_test(kAgainst, kTried, .04);
  EXPECT_NEAR(one.p, other.p, 1e-14);
  EXPECT_NEAR(one.estimate, 1 / other.estimate, 1e-14);
}

TEST(Equivalence, IsUndefinedWhereThereIsNoRatioOrTooLittle) {
  EXPECT_TRUE(std::isnan(relative_equivalence_test(Values{1, 2, 0}, Values{1, 2, 1}, .05).p));
  EXPECT_TRUE(std::isnan(relative_equivalence_test(Values{1}, Values{1}, .05).p));
  EXPECT_EQ(equivalence_test(Values{0, 0, 0}, -1, 1).p, 0);
  EXPECT_EQ(equivalence_test(Values{1, 1, 1}, -1, 1).p, 1) << "on the margin is not within";
  EXPECT_EQ(equivalence_test(Values{1, 1, 1}, -1, 1, PairedTest::wilcoxon).p, 1);
  EXPECT_THROW(equivalence_test(Values{1, 2}, 1, 1), UsageError);
  EXPECT_THROW(relative_equivalence_test(kTried, kAgainst, 0), UsageError);
  EXPECT_THROW(relative_equivalence_test(kTried, Values{1}, .1), UsageError);
}

Values ratios(World& w, Index n, double ratio, double deviation) {
  Values values = w.normals(n, std::log(ratio), deviation);
  for (double& v : values) v = std::exp(v);
  return values;
}

// The nulls hardest to reject: the truth lies on the margin.
TEST(EquivalenceCalibration, FindsEqualityOnTheMarginAtItsLevel) {
  for (const double ratio : {1.05, 1 / 1.05}) {
    const auto p = [=](World& w, PairedTest test) {
      return relative_equivalence_test(ratios(w, 20, ratio, .03), Values(20, 1), .05, test).p;
    };
    expect_level([&](World& w) { return p(w, PairedTest::student); });
    expect_level([&](World& w) { return p(w, PairedTest::wilcoxon); }, Level::conservative);
  }
}

TEST(EquivalenceCalibration, FindsLittleWhereLittleIsKnown) {
  const double unknown = share_of_worlds([](World& w) {
    return relative_equivalence_test(ratios(w, 20, 1.05, 1), Values(20, 1), .05).p <= .05;
  });
  EXPECT_LE(unknown, .05 + three_errors(.05));
  const double equal = share_of_worlds([](World& w) {
    return relative_equivalence_test(ratios(w, 20, 1, .03), Values(20, 1), .05).p <= .05;
  });
  EXPECT_GT(equal, .99);
}

}  // namespace
}  // namespace headgauge
