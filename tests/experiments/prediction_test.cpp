// Rank correlations between heads' metrics and their losses: values, errors and the stated level.
#include "experiments/prediction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace headgauge {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

HeadTable normal_table(std::size_t texts, std::size_t heads, std::uint64_t seed, std::uint32_t a) {
  HeadTable table(texts, std::vector<double>(heads));
  for (std::uint32_t t = 0; t < texts; ++t) {
    RandomStream(seed, RandomDomain::phantom, a, t).normals(table[t]);
  }
  return table;
}

TEST(Prediction, OtherTextsLeaveOutTheirOwn) {
  EXPECT_EQ(other_texts({{1, 2}, {3, 6}, {5, 4}}), (HeadTable{{4, 5}, {3, 3}, {2, 4}}));
  EXPECT_EQ(other_texts({{1, 2}}), (HeadTable{{1, 2}}));
}

TEST(Prediction, IsTheRankCorrelationWithTheOtherTexts) {
  const HeadTable up = {{1, 2, 3, 4, 5, 6, 7, 8}, {2, 3, 4, 5, 6, 7, 8, 90}};
  HeadTable down = up;
  for (auto& row : down) {
    for (double& value : row) value = -value;
  }
  EXPECT_NEAR(predict(up, up, {}, 0).correlation, 1, 1e-12);
  EXPECT_NEAR(predict(up, down, {}, 0).correlation, -1, 1e-12);
  // scipy.stats.spearmanr([1,2,3,4,5,6,7,8], [2,1,4,3,6,5,8,7]) -> 0.9047619
  const HeadTable swapped = {{2, 1, 4, 3, 6, 5, 8, 7}, {1, 2, 3, 4, 5, 6, 7, 8}};
  const Prediction found = predict({up[0], up[0]}, swapped, {}, 0);
  ASSERT_EQ(found.by_text.size(), 2u);
  EXPECT_NEAR(found.by_text[0], 1, 1e-12) << "its own text has no part in it";
  EXPECT_NEAR(found.by_text[1], 0.9047619047619048, 1e-12);
  EXPECT_NEAR(found.correlation, (1 + 0.9047619047619048) / 2, 1e-12);
}

TEST(Prediction, NotFoundRanksLastAndUndefinedIsLeftOut) {
  const HeadTable outcome = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
  EXPECT_NEAR(predict({{1, 2, 3, 4, 5, 6, 7, kInfinity, kInfinity}}, outcome, {}, 0).correlation,
              0.99582460, 1e-6);
  const Prediction found = predict({{9, 2, 3, 4, 5, 6, 7, 8, kUndefined}}, outcome, {}, 0);
  EXPECT_EQ(found.heads, 8);
  EXPECT_NEAR(found.correlation, 0.5, 0.2);
  EXPECT_TRUE(std::isnan(predict({{1, 2, 3, kUndefined}}, {{1, 2, 3, 4}}, {}, 0).correlation));
  const HeadTable same = {std::vector<double>(9, 2.0)};
  EXPECT_TRUE(std::isnan(predict(same, outcome, {}, 0).p)) << "all heads are alike";
}

// 2000 worlds in which nothing predicts: p is at most .05 in 5 % of them.
TEST(PredictionCalibration, KeepsItsLevel) {
  constexpr int kNullWorlds = 2000;
  int rejected = 0;
  for (std::uint32_t world = 0; world < kNullWorlds; ++world) {
    const HeadTable x = normal_table(3, 16, world, 0);
    HeadTable y = normal_table(3, 16, world, 1);
    // Losses of the texts replicate, as those of heads do.
    for (std::size_t h = 0; h < 16; ++h) {
      y[1][h] += 2 * y[0][h];
      y[2][h] += 2 * y[0][h];
    }
    rejected += predict(x, y, {.permutations = 199, .resamples = 2, .seed = world}, 0).p <= 0.05;
  }
  const double error = std::sqrt(0.05 * 0.95 / kNullWorlds);
  EXPECT_NEAR(rejected / double{kNullWorlds}, 0.05, 3 * error);
}

// 36 heads in six layers: metric and loss both follow the layer, and nothing else.
HeadTable by_depth(std::size_t texts, std::uint64_t seed, std::uint32_t a) {
  HeadTable table = normal_table(texts, 36, seed, a);
  for (auto& row : table) {
    for (std::size_t h = 0; h < row.size(); ++h) row[h] += static_cast<double>(h / 6);
  }
  return table;
}

PredictionOptions within_layers(std::uint64_t seed) {
  PredictionOptions plan{.permutations = 199, .resamples = 2, .seed = seed};
  for (Index h = 0; h < 36; ++h) plan.layers.push_back(h / 6);
  return plan;
}

// Depth alone is no prediction: p keeps its level, and that of all heads permuted does not.
TEST(PredictionCalibration, KeepsItsLevelWhereDepthAlonePredicts) {
  constexpr int kNullWorlds = 1000;
  int rejected = 0, of_any = 0;
  for (std::uint32_t world = 0; world < kNullWorlds; ++world) {
    const HeadTable x = by_depth(2, world, 6), y = by_depth(2, world, 7);
    const Prediction found = predict(x, y, within_layers(world), 0);
    rejected += found.p <= 0.05;
    of_any += found.p_of_any <= 0.05;
  }
  const double error = std::sqrt(0.05 * 0.95 / kNullWorlds);
  EXPECT_NEAR(rejected / double{kNullWorlds}, 0.05, 3 * error);
  EXPECT_GT(of_any, 0.9 * kNullWorlds);
}

TEST(Prediction, WithinItsLayerAMetricMayOrderTheOtherWay) {
  HeadTable x = {std::vector<double>(36)}, y = x;
  for (int h = 0; h < 36; ++h) {
    x[0][h] = h;
    y[0][h] = 6 * (h / 6) - 0.1 * (h % 6);  // rises with depth, falls within a layer
  }
  const Prediction found = predict(x, y, within_layers(0), 0);
  EXPECT_GT(found.correlation, 0.9);
  EXPECT_LT(found.within, 0);
  EXPECT_EQ(found.p, 1 / 200.0);
  y[0] = x[0];
  EXPECT_GT(predict(x, y, within_layers(0), 0).within, 0);
}

// The interval holds the truth in about 95 % of worlds: of two texts' noisy views of one order.
TEST(PredictionCalibration, IntervalsHoldTheTruth) {
  constexpr int kNullWorlds = 2000;
  constexpr double kTruth = 0.6;  // correlation of the normals
  const double rank_truth = 6 / M_PI * std::asin(kTruth / 2);
  int held = 0;
  for (std::uint32_t world = 0; world < kNullWorlds; ++world) {
    const HeadTable x = normal_table(1, 36, world, 2), noise = normal_table(1, 36, world, 3);
    HeadTable y = x;
    for (std::size_t h = 0; h < 36; ++h) {
      y[0][h] = kTruth * x[0][h] + std::sqrt(1 - kTruth * kTruth) * noise[0][h];
    }
    const Prediction found = predict(x, y, {.permutations = 1, .resamples = 400, .seed = world}, 0);
    held += found.interval.low <= rank_truth && rank_truth <= found.interval.high;
  }
  // The percentile interval of 36 heads is a little narrow: 92 to 95 %.
  EXPECT_GT(held, 0.91 * kNullWorlds);
  EXPECT_LT(held, 0.97 * kNullWorlds);
}

TEST(Prediction, ReplicationIsTheMeanOverPairsOfTexts) {
  const HeadTable table = {
      {1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1}};
  EXPECT_NEAR(replication(table), (1 - 1 - 1) / 3.0, 1e-12);
  EXPECT_TRUE(std::isnan(replication({table[0]})));
}

}  // namespace
}  // namespace headgauge
