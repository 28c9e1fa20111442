#include "kernels/weight_sums.hpp"

#include <limits>

#include "kernels/weight_reference.hpp"

namespace headgauge {
namespace {

class WeightSumsTest : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(WeightSumsTest);

void expect_sums(const std::vector<float>& weights) {
  const std::vector<float> logits = normals(std::ssize(weights), 9);
  const WeightSums got = sum_weights(weights, logits);
  const std::string at = "n = " + std::to_string(weights.size());
  EXPECT_EQ(got.max, *std::max_element(weights.begin(), weights.end())) << at;
  EXPECT_EQ(got.min, *std::min_element(weights.begin(), weights.end())) << at;
  EXPECT_EQ(got.max_logit, *std::max_element(logits.begin(), logits.end())) << at;
  EXPECT_EQ(got.min_logit, *std::min_element(logits.begin(), logits.end())) << at;
  expect_sums(got, reference_sums({weights.begin(), weights.end()}), 1e-6, at);
}

TEST_P(WeightSumsTest, AgreeWithFloat64OnWeightsOfBothSigns) {
  for_each_row([](const std::vector<float>& row) {
    // Subnormal weights count as none.
    if (std::abs(row[0]) < 1e-38f) return;
    expect_sums(row);
  });
}

TEST_P(WeightSumsTest, AgreeWithFloat64OnWeightsThatAreNotNegative) {
  for_each_row([](std::vector<float> row) {
    if (std::abs(row[0]) < 1e-38f) return;
    const bool sparse = row.size() % 2 == 0;
    for (float& w : row) w = sparse ? std::max(w, 0.0f) : std::abs(w);
    expect_sums(row);
  });
}

TEST_P(WeightSumsTest, SumsDistancesOnBothSidesOfAQuery) {
  for (const Index n : {1, 15, 16, 17, 33, 511, 512, 513, 5000}) {
    const auto weights = normals(n, 6);
    for (const Index first : {Index{0}, -n + 1, -n / 3, Index{40}}) {
      double expected = 0;
      for (Index j = 0; j < n; ++j) {
        expected += std::abs(double{weights[j]}) * std::abs(static_cast<double>(first + j));
      }
      EXPECT_NEAR(sum_distances(weights, first), expected, 2e-6 * expected) << n << " " << first;
    }
  }
}

TEST_P(WeightSumsTest, ARowOfZerosHasNoEntropy) {
  for (const std::size_t n : {1, 15, 16, 17, 300}) {
    const WeightSums sums = sum_weights(std::vector<float>(n, 0.0f), normals(Index(n), 1));
    EXPECT_EQ(sums.mass, 0.0);
    EXPECT_EQ(sums.square, 0.0);
    EXPECT_EQ(sums.max, 0.0);
    EXPECT_EQ(sums.max_count, static_cast<Index>(n));
    EXPECT_TRUE(std::isnan(sums.entropy));
  }
}

TEST_P(WeightSumsTest, CountsTheWeightsThatEqualTheLargest) {
  for (const Index n : {5, 16, 33, 100, 1000}) {
    auto weights = normals(n, 4);
    for (const std::size_t at : {std::size_t{0}, weights.size() / 2, weights.size() - 1}) {
      weights[at] = 7.0f;
    }
    EXPECT_EQ(sum_weights(weights, normals(n, 5)).max_count, 3);
    for (float& w : weights) w = std::abs(w);
    EXPECT_EQ(sum_weights(weights, normals(n, 5)).max_count, 3);
    // The largest may be negative.
    for (float& w : weights) w = w == 7.0f ? -0.5f : -2.0f - w;
    EXPECT_EQ(sum_weights(weights, normals(n, 5)).max_count, 3);
  }
}

TEST_P(WeightSumsTest, ALogitThatIsNotFiniteShows) {
  for (const std::size_t n : {1, 16, 17, 100}) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      std::vector<float> logits(n, 1.0f);
      logits[n / 2] = bad;
      EXPECT_TRUE(std::isnan(sum_weights(std::vector<float>(n, 0.1f), logits).log_sum_exp));
    }
  }
}

}  // namespace
}  // namespace headgauge
