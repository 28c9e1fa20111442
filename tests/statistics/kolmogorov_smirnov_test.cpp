#include "statistics/nonparametric.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace headgauge
