#include "base/random.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace headgauge {
namespace {

// Known answer of Random123 (kat_vectors): philox4x32-10 with all-zero key and counter.
TEST(Random, PhiloxKnownAnswer) {
  const RandomStream zero(0, static_cast<RandomDomain>(0), 0, 0);
  const std::array<std::uint32_t, 4> expected{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(zero.block(0), expected);
}

TEST(Random, NormalsHaveMeanZeroAndVarianceOne) {
  std::vector<double> z(100000);
  RandomStream(7, RandomDomain::sensitivity_direction, 1, 2).normals(z);
  const double mean = std::accumulate(z.begin(), z.end(), 0.0) / 1e5;
  double variance = 0;
  for (double v : z) variance += (v - mean) * (v - mean) / 1e5;
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(1e5));
  EXPECT_NEAR(variance, 1, 5 * std::sqrt(2 / 1e5));
}

TEST(Random, AnOddNumberOfNormalsIsAPrefix) {
  std::vector<double> five(5), eight(8);
  const RandomStream stream(3, RandomDomain::sphere_points, 4, 5);
  stream.normals(five);
  stream.normals(eight);
  EXPECT_TRUE(std::equal(five.begin(), five.end(), eight.begin()));
}

TEST(Random, StreamsDiffer) {
  const RandomStream a(3, RandomDomain::sphere_points, 4, 5);
  const RandomStream b(3, RandomDomain::sphere_points, 5, 4);
  EXPECT_NE(a.block(0), b.block(0));
}

}  // namespace
}  // namespace headgauge
