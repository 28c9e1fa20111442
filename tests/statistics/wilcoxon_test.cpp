#include "statistics/nonparametric.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "statistics/worlds.hpp"

namespace headgauge {
namespace {

using Values = std::vector<double>;

struct Expected {
  double statistic, both, above, below;
};

void expect_wilcoxon(const Values& values, const Expected& expected, double tolerance) {
  EXPECT_EQ(wilcoxon_test(values).statistic, expected.statistic);
  EXPECT_NEAR(wilcoxon_test(values).p, expected.both, tolerance);
  EXPECT_NEAR(wilcoxon_test(values, 0, Tail::above).p, expected.above, tolerance);
  EXPECT_NEAR(wilcoxon_test(values, 0, Tail::below).p, expected.below, tolerance);
}

TEST(Wilcoxon, IsThatOfScipy) {
  // stats.wilcoxon(d, alternative=..., method="exact")
  expect_wilcoxon({1.1, -.4, .9, 2.3, -1.6, 3.2, .2, -.7, 1.9},
                  {34, 0.203125, 0.1015625, 0.91796875}, 1e-15);
}

TEST(Wilcoxon, EnumeratesTies) {
  // stats.wilcoxon(d, alternative=..., method=stats.PermutationMethod(n_resamples=np.inf))
  expect_wilcoxon({1, 1, -1, 2, 2, -3, 4, 0, 5, 5}, {37, 0.08203125, 0.041015625, 0.96484375},
                  1e-15);
}

TEST(Wilcoxon, IsNormalBeyondFifty) {
  // stats.wilcoxon(d, alternative=..., method="asymptotic", correction=True), which centers the
  // continuity correction of the two-sided test alike.
  Values ties;
  for (int i = 0; i < 70; ++i) ties.push_back((i * 37) % 23 - 8);
  const WilcoxonTest test = wilcoxon_test(ties);
  EXPECT_FALSE(test.exact);
  EXPECT_EQ(test.differences, 67);
  expect_wilcoxon(ties, {1642.5, 0.0016633895662926748, 0.0008316947831463374, 0.9991859020355278},
                  1e-12);
}

TEST(Wilcoxon, JoinsItsApproximation) {
  // At 50 and 51 differences, of which the last says nearly nothing.
  Values values;
  for (int i = 1; i <= 50; ++i) values.push_back(i % 3 == 0 ? -i : i);
  const double exact = wilcoxon_test(values).p;
  values.push_back(1e-9);
  const double normal = wilcoxon_test(values).p;
  EXPECT_TRUE(wilcoxon_test(Values(50, 1)).exact);
  EXPECT_NEAR(exact, 0.026, 0.001);
  EXPECT_NEAR(normal, exact, 0.002);
}

TEST(Wilcoxon, Nulls) {
  EXPECT_EQ(wilcoxon_test(Values{12, 14, 16, 9}, 10).p, wilcoxon_test(Values{2, 4, 6, -1}).p);
  EXPECT_TRUE(std::isnan(wilcoxon_test(Values{}).p));
  EXPECT_TRUE(std::isnan(wilcoxon_test(Values{0, 0, 0}).p));
  EXPECT_EQ(wilcoxon_test(Values{0, 0, 2}).p, 1) << "of one difference either sign is as likely";
  EXPECT_EQ(wilcoxon_test(Values{2}, 0, Tail::above).p, .5);
}

TEST(WilcoxonCalibration, RejectsNoMoreThanItSays) {
  const auto cauchy = [](World& w, Index n) {
    Values values = w.uniforms(n);
    for (double& v : values) v = std::tan(std::numbers::pi * (v - .5));
    return values;
  };
  for (const Index n : {8, 20, 40}) {
    SCOPED_TRACE(n);
    expect_level([&](World& w) { return wilcoxon_test(cauchy(w, n)).p; }, Level::conservative);
    expect_level([&](World& w) { return wilcoxon_test(cauchy(w, n), 0, Tail::above).p; },
                 Level::conservative);
  }
  expect_level([&](World& w) { return wilcoxon_test(cauchy(w, 60)).p; });
  // With ties: normals in steps of half a deviation, of which a fifth are 0.
  for (const Index n : {16, 80}) {
    SCOPED_TRACE(n);
    expect_level(
        [&](World& w) {
          Values values = w.normals(n);
          for (double& v : values) v = std::round(2 * v) / 2;
          return wilcoxon_test(values).p;
        },
        Level::conservative);
  }
}

TEST(WilcoxonCalibration, FindsWhatIsThere) {
  const double wilcoxon =
      share_of_worlds([](World& w) { return wilcoxon_test(w.normals(20, 1)).p < .05; });
  EXPECT_GT(wilcoxon, 0.96) << "nearly as often as the t test of normals";
}

}  // namespace
}  // namespace headgauge
