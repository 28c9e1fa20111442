#include "statistics/inference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace headgauge {
namespace {

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
