// The critical temperature (docs/mathematics.md G10) against a whole sort, and what it proves.
#include "measures/critical_temperature.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace headgauge {
namespace {

double by_sorting(std::vector<float> logits) {
  std::ranges::sort(logits, std::greater<>());
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 2; k <= logits.size(); ++k) {
    const double gap = static_cast<double>(logits[0]) - logits[k - 1];
    least = std::min(least, gap / std::log(static_cast<double>(k)));
  }
  return least;
}

// Even, peaked, with many equal ones, or with one far above the others.
std::vector<float> row_of(int kind, int n, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> logits(n);
  for (float& l : logits) {
    l = normal(random) * (kind == 1 ? 6.0f : 1.0f);
    if (kind == 2) l = std::round(l);
  }
  if (kind == 3) logits[n / 2] += 30.0f;
  return logits;
}

double largest_weight(const std::vector<float>& logits, double temperature) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float l : logits) sum += std::exp((l - top) / temperature);
  return 1 / sum;
}

double of(CriticalTemperature& work, const std::vector<float>& row) {
  const auto [least, most] = std::ranges::minmax(row);
  return work.find(row, least, most);
}

TEST(CriticalTemperature, EqualsTheMinimumOverTheSortedRow) {
  std::mt19937_64 random(1);
  CriticalTemperature work;
  for (int trial = 0; trial < 2000; ++trial) {
    const auto row = row_of(trial % 4, 2 + static_cast<int>(random() % 700), random);
    EXPECT_NEAR(of(work, row), by_sorting(row), 1e-12) << "trial " << trial;
  }
}

// Below T_c the largest weight has a bound that holds for any number of keys, above T_c it is at
// most k^(T_c/T - 1), with the k at which the minimum is attained.
TEST(CriticalTemperature, BoundsTheLargestWeight) {
  std::mt19937_64 random(2);
  CriticalTemperature work;
  for (int trial = 0; trial < 400; ++trial) {
    const auto row = row_of(trial % 4, 2 + static_cast<int>(random() % 300), random);
    const double critical = of(work, row);
    for (const double temperature : {0.1, 0.5, 1.0, 3.0}) {
      const double power = critical / temperature;
      double sum = 0;
      for (std::size_t k = 1; k <= row.size(); ++k) {
        sum += std::pow(static_cast<double>(k), -power);
      }
      const double weight = largest_weight(row, temperature);
      EXPECT_GE(weight, (1 - 1e-6) / sum);
      if (power >= 1) continue;
      EXPECT_LE(weight, (1 + 1e-6) * std::pow(2.0, power - 1));
    }
  }
}

TEST(CriticalTemperature, OfFewKeys) {
  CriticalTemperature work;
  EXPECT_TRUE(std::isnan(of(work, {1})));
  EXPECT_EQ(of(work, {2, 2}), 0);
  EXPECT_EQ(of(work, {2, 1, 2}), 0);
  EXPECT_NEAR(of(work, {0, -1}), 1 / std::log(2.0), 1e-12);
  EXPECT_NEAR(of(work, {3e38f, -3e38f}), 6e38 / std::log(2.0), 1e32);
}

}  // namespace
}  // namespace headgauge
