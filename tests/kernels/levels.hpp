// Runs a test at every SIMD level that this processor has, and restores the choice afterwards.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "headgauge/base.hpp"
#include "kernels/simd.hpp"

namespace headgauge {

class EveryLevel : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    before_ = simd_level();
    set_simd_level(GetParam());
    ASSERT_EQ(simd_level(), GetParam());
  }
  void TearDown() override { set_simd_level(before_); }

 private:
  std::string before_;
};

#define HEADGAUGE_EVERY_LEVEL(suite)                                                   \
  INSTANTIATE_TEST_SUITE_P(Simd, suite, ::testing::ValuesIn(headgauge::simd_levels()), \
                           [](const auto& level) { return level.param; })

// Half the distance between 1 and the next float: the largest relative error of one rounding.
inline constexpr double kSingleRounding = 0x1p-24;

using Generator = std::mt19937_64;

inline std::vector<float> normals(Index n, std::uint64_t seed, double deviation = 1.0) {
  Generator generator(seed);
  std::normal_distribution<double> normal(0.0, deviation);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(normal(generator));
  return out;
}

}  // namespace headgauge
