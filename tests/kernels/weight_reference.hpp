// The sums of a row of weights in float64, one weight after the other, and rows that try a kernel.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "headgauge/kernels.hpp"
#include "kernels/levels.hpp"

namespace headgauge {

inline WeightSums reference_sums(const std::vector<double>& weights) {
  WeightSums sums;
  sums.max = *std::max_element(weights.begin(), weights.end());
  sums.min = *std::min_element(weights.begin(), weights.end());
  double top = 0;
  for (const double a : weights) top = std::max(top, std::abs(a));
  for (const double a : weights) {
    sums.mass += a;
    sums.abs_mass += std::abs(a);
    sums.square += a * a;
    sums.cube += a * a * a;
    // What float32 cannot tell from the largest counts as equal to it.
    if (std::abs(a - sums.max) <= 2e-7 * std::abs(sums.max)) {
      ++sums.max_count;
      continue;
    }
    sums.rest_mass += a;
    sums.rest_square += a * a;
    sums.rest_cube += a * a * a;
  }
  // H = sum p (log(S / M) - log(|a| / M)), the largest of magnitude M aside, so that digits stay.
  double rest = -top, logs = 0;
  for (const double a : weights) {
    rest += std::abs(a);
    if (a != 0) logs += std::abs(a) * std::log(std::abs(a) / top);
  }
  sums.entropy = top > 0 ? std::log1p(rest / top) - logs / sums.abs_mass : kUndefined;
  return sums;
}

// `relative` is the error allowed a weight; squares and cubes have twice and three times that.
// Weights of both signs may cancel: their sums are held to those of the magnitudes.
inline void expect_sums(const WeightSums& got, const WeightSums& expected, double relative,
                        const std::string& at) {
  const double size = expected.abs_mass, biggest = std::max(expected.max, -expected.min);
  EXPECT_NEAR(got.mass, expected.mass, relative * size) << at;
  EXPECT_NEAR(got.abs_mass, size, relative * size) << at;
  EXPECT_NEAR(got.square, expected.square, 2 * relative * expected.square) << at;
  EXPECT_NEAR(got.cube, expected.cube, 3 * relative * expected.square * biggest) << at;
  EXPECT_NEAR(got.max, expected.max, relative * biggest) << at;
  EXPECT_NEAR(got.min, expected.min, relative * biggest) << at;
  EXPECT_EQ(got.log_sum_exp, 0.0) << at;
  if (size == 0) {
    EXPECT_TRUE(std::isnan(got.entropy)) << at;
    return;
  }
  EXPECT_NEAR(got.entropy, expected.entropy,
              (relative + (expected.entropy > 0.1 ? 3e-6 : 2e-5)) * expected.entropy + 1e-15)
      << at;
  const double rest = expected.min < 0 ? size : expected.rest_mass;
  if (got.max_count != expected.max_count) return;  // two weights float32 can just tell apart
  EXPECT_NEAR(got.rest_mass, expected.rest_mass, 2 * relative * rest + 1e-31) << at;
  EXPECT_NEAR(got.rest_square, expected.rest_square, 3 * relative * expected.rest_square + 1e-35)
      << at;
}

inline std::vector<Index> row_lengths() {
  std::vector<Index> out;
  for (Index n = 1; n <= 300; ++n) out.push_back(n);
  for (const Index n : {511, 512, 513, 1024, 4097, 16384}) out.push_back(n);
  return out;
}

// Expects the same sums where there is no room for the weights, and the same weights in place.
// weigh(row, weights, sums) returns whether it took the row.
template <class Weigh>
void expect_same_elsewhere(std::vector<float> row, const std::vector<float>& weights,
                           const WeightSums& got, const Weigh& weigh, const std::string& at) {
  WeightSums again;
  ASSERT_TRUE(weigh(row, std::span<float>(), again));
  EXPECT_EQ(again.square, got.square) << at;
  ASSERT_TRUE(weigh(row, std::span(row), again));
  EXPECT_TRUE(std::equal(row.begin(), row.end(), weights.begin())) << at;
}

// Expects that a row with a logit that is not finite is left alone.
template <class Weigh>
void expect_left_alone(const Weigh& weigh) {
  for (const Index n : {1, 16, 17, 64, 100}) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      auto row = normals(n, 3);
      row[n / 2] = bad;
      std::vector<float> weights(row.size(), -7.0f);
      WeightSums sums;
      EXPECT_FALSE(weigh(row, std::span(weights), sums)) << n;
      EXPECT_EQ(weights, std::vector<float>(row.size(), -7.0f));
    }
  }
}

// Random rows of every length and spread, rows all alike, rows with one key far above the others,
// huge logits of both signs, subnormal ones.
template <class Check>
void for_each_row(const Check& check) {
  for (const Index n : row_lengths()) {
    const auto seed = static_cast<std::uint64_t>(n);
    check(normals(n, seed, n % 3 == 0 ? 0.01 : n % 3 == 1 ? 1.0 : 4.0));
    if (n > 64 && n % 50 != 0) continue;
    for (const double spread : {1e-40, 1e-4, 0.1, 2.0, 8.0, 30.0, 1e4}) {
      check(normals(n, seed + 1, spread));
    }
    for (const float value : {0.0f, -3.7f, 1.5f, 1e4f, -1e4f}) {
      check(std::vector<float>(n, value));
    }
    for (const float gap : {0.1f, 5.0f, 15.0f, 40.0f, 1000.0f}) {
      auto row = normals(n, seed + 2, 0.5);
      row[n / 2] += gap;
      check(row);
    }
    auto low = normals(n, seed + 3, 1.0);
    for (float& l : low) l -= 30.0f;
    check(low);
  }
}

}  // namespace headgauge
