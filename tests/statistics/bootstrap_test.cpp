#include "statistics/bootstrap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headgauge/ranks.hpp"
#include "statistics/student.hpp"
#include "statistics/worlds.hpp"

namespace headgauge {
namespace {

using Values = std::vector<double>;

const Values kSkewed{.1,  .3, .2,  1.4, .7,  2.9, .4, .05, 1.1, .6,
                     4.2, .9, .35, .15, 1.8, .25, .5, .75, 3.3, .45};

double mean_of(const Values& values, std::span<const Index> units) {
  double sum = 0;
  for (const Index i : units) sum += values[i];
  return sum / static_cast<double>(units.size());
}

double variance_of(const Values& values, std::span<const Index> units) {
  const double mean = mean_of(values, units);
  double sum = 0;
  for (const Index i : units) sum += (values[i] - mean) * (values[i] - mean);
  return sum / static_cast<double>(units.size());
}

Interval interval_of(const Values& values, double (*figure)(const Values&, std::span<const Index>),
                     const BootstrapOptions& options) {
  return bootstrap_interval(
      std::ssize(values), [&](std::span<const Index> units) { return figure(values, units); },
      options);
}

TEST(Bootstrap, IsThatOfScipy) {
  // stats.bootstrap((x,), np.mean or np.var, method="percentile" or "BCa", n_resamples=1000000,
  // random_state=1).confidence_interval; of other draws, hence the tolerance.
  BootstrapOptions options{.resamples = 100000, .kind = BootstrapKind::percentile};
  Interval found = interval_of(kSkewed, mean_of, options);
  EXPECT_NEAR(found.low, 0.57, 0.005);
  EXPECT_NEAR(found.high, 1.5575, 0.01);
  found = interval_of(kSkewed, variance_of, options);
  EXPECT_NEAR(found.low, 0.2341, 0.005);
  EXPECT_NEAR(found.high, 2.2405, 0.02);
  options.kind = BootstrapKind::bca;
  found = interval_of(kSkewed, mean_of, options);
  EXPECT_NEAR(found.low, 0.63, 0.005);
  EXPECT_NEAR(found.high, 1.68, 0.01);
  found = interval_of(kSkewed, variance_of, options);
  EXPECT_NEAR(found.low, 0.4831, 0.005);
  EXPECT_NEAR(found.high, 2.6338, 0.02);
}

TEST(Bootstrap, FiguresTogetherAreThoseAlone) {
  for (const BootstrapKind kind :
       {BootstrapKind::percentile, BootstrapKind::expanded, BootstrapKind::bca}) {
    const BootstrapOptions options{.kind = kind};
    const auto together = bootstrap_intervals(
        std::ssize(kSkewed), 3,
        [](std::span<const Index> units, std::span<double> figures) {
          figures[0] = mean_of(kSkewed, units);
          figures[2] = variance_of(kSkewed, units);
        },
        options);
    ASSERT_EQ(together.size(), 3u);
    const Interval mean = interval_of(kSkewed, mean_of, options);
    const Interval variance = interval_of(kSkewed, variance_of, options);
    EXPECT_EQ(together[0].low, mean.low);
    EXPECT_EQ(together[0].high, mean.high);
    EXPECT_TRUE(std::isnan(together[1].low));
    EXPECT_EQ(together[2].low, variance.low);
    EXPECT_EQ(together[2].high, variance.high);
  }
}

TEST(Bootstrap, DrawsBySeedAndStreamAlone) {
  const Interval one = interval_of(kSkewed, mean_of, {});
  const Interval same = interval_of(kSkewed, mean_of, {});
  EXPECT_EQ(one.low, same.low);
  EXPECT_EQ(one.high, same.high);
  EXPECT_NE(one.low, interval_of(kSkewed, mean_of, {.stream = 1}).low);
  EXPECT_NE(one.low, interval_of(kSkewed, mean_of, {.seed = 1}).low);
}

TEST(Bootstrap, OfAConstantIsAPointAndOfOneUnitNothing) {
  for (const BootstrapKind kind :
       {BootstrapKind::percentile, BootstrapKind::expanded, BootstrapKind::bca}) {
    const BootstrapOptions options{.kind = kind};
    const Interval found = interval_of(Values(5, 3), mean_of, options);
    EXPECT_EQ(found.low, 3);
    EXPECT_EQ(found.high, 3);
    EXPECT_TRUE(std::isnan(interval_of(Values{1}, mean_of, options).low));
    EXPECT_TRUE(std::isnan(interval_of(Values{1, kUndefined}, mean_of, options).low));
  }
  EXPECT_THROW(interval_of(kSkewed, mean_of, {.level = 1}), UsageError);
  EXPECT_THROW(interval_of(kSkewed, mean_of, {.resamples = 0}), UsageError);
}

// How often 95 % intervals miss a true mean of `truth`.
double missed(Index n, BootstrapKind kind, bool skewed) {
  const double truth = skewed ? 1 : 0;
  return share_of_worlds([&](World& w) {
    Values values = w.normals(n);
    if (skewed) {
      values = w.uniforms(n);
      for (double& v : values) v = -std::log1p(-v);
    }
    const Interval found = interval_of(values, mean_of, {.resamples = 1000, .kind = kind});
    return found.low > truth || found.high < truth;
  });
}

// The percentile interval of a mean of n normals is that of the normal law with the deviation over
// n instead of n - 1: how often it misses is known.
TEST(BootstrapCalibration, PercentilesMissAsTheoryHasIt) {
  for (const Index n : {8, 40}) {
    const auto units = static_cast<double>(n);
    const double expected = 2 * student_tail(1.96 * std::sqrt((units - 1) / units), units - 1);
    EXPECT_NEAR(missed(n, BootstrapKind::percentile, false), expected, three_errors(expected)) << n;
  }
}

TEST(BootstrapCalibration, ExpandedOnesHoldTheTruthOfFewUnitsToo) {
  for (const Index n : {8, 20}) {
    EXPECT_NEAR(missed(n, BootstrapKind::expanded, false), .05, three_errors(.05)) << n;
  }
}

TEST(BootstrapCalibration, AcceleratedOnesAreBetterOfSkewedFigures) {
  const double percentile = missed(40, BootstrapKind::percentile, true);
  const double accelerated = missed(40, BootstrapKind::bca, true);
  EXPECT_LT(accelerated, percentile);
  EXPECT_LT(accelerated, .08);
  EXPECT_GT(accelerated, .05 - three_errors(.05));
}

TEST(Ranks, GiveTiesTheirMean) {
  EXPECT_EQ(ranks(Values{3, 1, 3, 7, 3}), (Values{3, 1, 3, 5, 3}));
  EXPECT_EQ(ranks(Values{}), Values{});
}

TEST(Ranks, MediansAndQuantiles) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
  const Values sorted{1, 2, 4, 8};  // np.percentile([1, 2, 4, 8], [0, 40, 50, 100])
  EXPECT_EQ(sorted_quantile(sorted, 0), 1);
  EXPECT_NEAR(sorted_quantile(sorted, .4), 2.4, 1e-15);
  EXPECT_EQ(sorted_quantile(sorted, .5), 3);
  EXPECT_EQ(sorted_quantile(sorted, 1), 8);
  EXPECT_TRUE(std::isnan(sorted_quantile(Values{}, .5)));
}

}  // namespace
}  // namespace headgauge
