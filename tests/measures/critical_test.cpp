#include "measures/critical.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "headgauge/results.hpp"

namespace headgauge {
namespace {

TEST(KolmogorovSmirnov, DistanceOfSamples) {
  EXPECT_NEAR(ks_distance({1, 2, 3, 4}, {1, 2, 3, 4}), 0.0, 1e-15);
  EXPECT_NEAR(ks_distance({1, 2, 3, 4}, {5, 6, 7, 8}), 1.0, 1e-15);
  EXPECT_NEAR(ks_distance({4, 1, 3, 2}, {2.5, 9, 8, 3.5}), 0.5, 1e-15);
  // Ties between the samples: both steps are taken before the gap is measured.
  EXPECT_NEAR(ks_distance({1, 1, 2, 2}, {1, 2, 2, 2}), 0.25, 1e-15);
  EXPECT_NEAR(ks_distance({1, 2}, {1, 1, 2, 2, 2, 3}), 1.0 / 6.0, 1e-15);
}

TEST(KolmogorovSmirnov, TailOfTheAsymptoticLaw) {
  EXPECT_EQ(kolmogorov_tail(0.0), 1.0);
  // Smirnov's table (1948).
  EXPECT_NEAR(kolmogorov_tail(0.5), 0.963945, 1e-6);
  EXPECT_NEAR(kolmogorov_tail(0.8), 0.544142, 1e-6);
  EXPECT_NEAR(kolmogorov_tail(1.0), 0.270000, 1e-6);
  EXPECT_NEAR(kolmogorov_tail(1.36), 0.049486, 1e-6);
  EXPECT_NEAR(kolmogorov_tail(2.0), 0.000671, 1e-6);
  EXPECT_NEAR(kolmogorov_tail(0.999999), kolmogorov_tail(1.000001), 1e-5);
  EXPECT_NEAR(kolmogorov_tail(0.05), 1.0, 1e-12);
}

// The critical D for 144 heads that docs/mathematics.md section 2 names.
TEST(KolmogorovSmirnov, CriticalDistances) {
  EXPECT_NEAR(ks_probability(0.1918, 144, 144), 0.01, 2e-4);
  EXPECT_NEAR(ks_probability(0.1601, 144, 144), 0.05, 2e-4);
  EXPECT_LT(ks_probability(28.0 / 144.0, 144, 144), 0.01);
  EXPECT_GT(ks_probability(27.0 / 144.0, 144, 144), 0.01);
  EXPECT_GT(ks_probability(9.0 / 16.0, 16, 16), 0.01);
  EXPECT_LT(ks_probability(10.0 / 16.0, 16, 16), 0.01);
}

constexpr CriticalMetrics kMetrics{{0, 20}, {20, 20}};  // for N up to 20

// Distances fall by head and rise with N, contexts the other way; they cross at `meet`.
class FakeLayer : public LayerStatistics {
 public:
  explicit FakeLayer(double meet, double error = 0.5) : meet_(meet), error_(error) {}
  Estimate at(MetricHandle metric, Index head, Index length, Index inner) const override {
    if (head == 3) return {};  // not measured
    const double n = static_cast<double>(inner) + 1.0;
    const double excess = n - meet_ + 0.001 * static_cast<double>(head);
    if (metric.first == kMetrics.distance.first)
      return {100.0 + n + static_cast<double>(head), 0.1, 9};
    if (metric.first == kMetrics.excess.first) {
      return {10.0 * excess, length == 0 ? kUndefined : error_, 9};
    }
    return {};
  }
  Estimate at_position(MetricHandle, Index, Index, Index) const override { return {}; }
  Index heads() const override { return 12; }

 private:
  double meet_, error_;
};

Results empty_results(std::vector<double> lengths) {
  Results results;
  results.set_coord("layer", std::vector<double>{0, 1});
  std::vector<double> heads;
  for (int h = 0; h < 12; ++h) heads.push_back(h);
  results.set_coord("head", heads);
  results.set_coord("length", std::move(lengths));
  return results;
}

TEST(Critical, FirstSizeAtWhichHeadsAgree) {
  MeasureOptions options;
  options.lengths = {32, 64};
  const FakeLayer layer(7.0);
  const std::vector<const LayerStatistics*> layers{&layer, &layer};
  Results results = empty_results({32, 64});
  derive_critical(layers, kMetrics, options, results);
  // Within a unit of N = 7 the excess of 10 is as wide as the spread of the heads.
  const double n = results.at("critical_n", {1});
  EXPECT_GE(n, 6.0);
  EXPECT_LE(n, 7.0);
  EXPECT_NEAR(results.at("critical_fraction", {1}), n / 64.0, 1e-15);
  EXPECT_GE(results.at("critical_ks_p", {1}), 0.01);
  EXPECT_NEAR(results.at("critical_ks_p", {1}),
              ks_probability(results.at("critical_ks_d", {1}), 22, 22), 1e-12);
  EXPECT_EQ(results.at("critical_n_head", {0, 4, 1}), 7.0);
  EXPECT_NEAR(results.at("critical_fraction_head", {0, 4, 1}), 7.0 / 64.0, 1e-15);
  // No standard error at the first length; head 3 was not measured.
  EXPECT_TRUE(std::isnan(results.at("critical_n_head", {0, 4, 0})));
  EXPECT_TRUE(std::isnan(results.at("critical_n_head", {1, 3, 1})));
}

TEST(Critical, MinusOneWhereTheyNeverAgree) {
  MeasureOptions options;
  options.lengths = {4, 64};
  const FakeLayer layer(500.0);
  const std::vector<const LayerStatistics*> layers{&layer, &layer};
  Results results = empty_results({4, 64});
  derive_critical(layers, kMetrics, options, results);
  EXPECT_EQ(results.at("critical_n", {1}), -1.0);
  EXPECT_TRUE(std::isnan(results.at("critical_fraction", {1})));
  EXPECT_EQ(results.at("critical_ks_d", {1}), 1.0);
  EXPECT_LT(results.at("critical_ks_p", {1}), 0.01);
  EXPECT_EQ(results.at("critical_n_head", {0, 0, 1}), -1.0);
  EXPECT_TRUE(std::isnan(results.at("critical_fraction_head", {0, 0, 1})));
}

// N goes no further than L - 1: rows with n > N must exist.
TEST(Critical, SearchesBelowTheLength) {
  MeasureOptions options;
  options.lengths = {4, 64};
  const FakeLayer layer(7.0);
  const std::vector<const LayerStatistics*> layers{&layer};
  Results results = empty_results({4, 64});
  results.set_coord("layer", std::vector<double>{0});
  derive_critical(layers, kMetrics, options, results);
  EXPECT_EQ(results.at("critical_n", {0}), -1.0);
  EXPECT_GT(results.at("critical_n", {1}), 0.0);
}

}  // namespace
}  // namespace headgauge
