#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "headgauge/normalize.hpp"
#include "scan/statistics.hpp"

namespace headgauge {
namespace {

// The two values of row `query` (0-based) of a causal head with these weights.
std::array<double, 2> values_of(const std::vector<float>& weights) {
  SourceInfo source;
  const std::vector<std::string> groups = {"locality"};
  const auto measures = make_measures(groups, {}, source, 1);
  const CellLayout layout(measures);
  Row row;
  row.query = static_cast<Index>(weights.size()) - 1;
  row.keys = {0, row.query + 1};
  row.weights = weights;
  for (const float w : weights) row.sums.abs_mass += std::abs(w);
  std::array<double, 2> values{kUndefined, kUndefined};
  RowSink sink(MatrixView<double>(values.data(), 1, 2));
  const auto rule = make_normalizer("softmax");
  const HeadInput head;
  measures.front()->observe({&head, rule.get(), {&row, 1}}, 0, sink);
  return values;
}

TEST(Locality, CountsTheSixteenNearestKeys) {
  std::vector<float> weights(20, 0.05f);
  EXPECT_NEAR(values_of(weights)[0], 0.8, 1e-6);
  EXPECT_NEAR(values_of({1.0f})[0], 1, 1e-12);
  std::vector<float> far(17, 0.0f);
  far.front() = -1;
  EXPECT_EQ(values_of(far)[0], 0);
}

TEST(Locality, PositionLiesBetweenTheStartAndTheQuery) {
  EXPECT_NEAR(values_of({0, 0, 0, 1})[1], 1, 1e-12);
  EXPECT_NEAR(values_of({1, 0, 0, 0})[1], 0.25, 1e-12);
  EXPECT_NEAR(values_of({.25f, .25f, .25f, .25f})[1], 0.625, 1e-6);
}

TEST(Locality, RowsWithoutWeightHaveNone) {
  EXPECT_TRUE(std::isnan(values_of({0, 0})[0]));
}

}  // namespace
}  // namespace headgauge
