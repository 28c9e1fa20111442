// The logits group: rows, and the largest over the rows of several documents.
#include "measures/logits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "headgauge/results.hpp"
#include "measures/pass_part.hpp"
#include "measures/row_values.hpp"

namespace headgauge {
namespace {

using Rows = std::vector<std::vector<float>>;

class Means final : public HeadMeans {
 public:
  double at(MetricHandle, Index, Index) const override { return kUndefined; }
};

// Measures the rows of one head, each in a slot of its own.
std::map<std::string, std::vector<double>> observe(Measure& measure, const CellLayout& layout,
                                                   int number, const Rows& logits,
                                                   const std::string& normalizer) {
  const auto weigh = make_normalizer(normalizer);
  HeadInput head;
  head.head = number;
  ThreadPool pool(1);
  measure.begin_head(head, pool);
  std::map<std::string, std::vector<double>> values;
  for (std::size_t r = 0; r < logits.size(); ++r) {
    std::vector<float> weights(logits[r].size());
    Row row;
    row.query = std::ssize(logits[r]) - 1;
    row.keys = {0, std::ssize(logits[r])};
    row.logits = logits[r];
    row.sums = weigh->weigh(std::span<const float>(logits[r]), {row.n(), row.query}, weights);
    RowBlock block{&head, weigh.get(), {&row, 1}};
    Matrix<double> all = undefined_cells(1, layout), stand_for(1, layout.cells());
    RowSink sink(all, stand_for);
    measure.observe(block, static_cast<int>(r), sink);
    for (const CellRange& range : layout.ranges()) {
      values[range.metric.name].push_back(all(0, range.handle.first));
    }
  }
  measure.end_head(head, Means());
  return values;
}

TEST(Logits, OfRowsAndTheLargestOfAHead) {
  const auto measures = list_of(make_logits_measure(3));
  const CellLayout layout(measures);
  Measure& measure = *measures.front();
  ThreadPool pool(1);
  const Rows rows = {{1}, {2, -4}, {0.5, 0.5, -1}};
  const auto values = observe(measure, layout, 0, rows, "softmax");
  EXPECT_EQ(values.at("max_logit"), (std::vector<double>{1, 2, 0.5}));
  EXPECT_EQ(values.at("mean_logit"), (std::vector<double>{1, -1, 0}));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    double sum = 0;
    for (const float l : rows[r]) sum += std::exp(l);
    EXPECT_NEAR(values.at("log_sum_exp")[r], std::log(sum), 1e-5);
  }
  observe(measure, layout, 2, {{-3}, {-7, -5}}, "softmax");
  pass_part(measure, 0, pool);
  // Only softmax of the logits as they are has their log-sum-exp.
  for (const std::string other : {"softmax:t=2", "sparsemax", "ssmax"}) {
    const auto of_other = observe(measure, layout, 0, {{9, 1}}, other);
    EXPECT_TRUE(std::isnan(of_other.at("log_sum_exp")[0])) << other;
    EXPECT_EQ(of_other.at("max_logit")[0], 9);
  }
  pass_part(measure, 1, pool);
  // A later document whose logits are smaller changes nothing.
  observe(measure, layout, 0, {{4}}, "softmax");
  pass_part(measure, 2, pool);
  class Statistics final : public LayerStatistics {
   public:
    Estimate at(MetricHandle, Index, Index, Index) const override { return {}; }
    Estimate at_position(MetricHandle, Index, Index, Index) const override { return {}; }
    Index heads() const override { return 3; }
  } statistics;
  measure.end_layer(0, statistics, pool);
  Results results;
  results.set_coord("layer", std::vector<double>{0});
  results.set_coord("head", std::vector<double>{0, 1, 2});
  const LayerStatistics* layers[] = {&statistics};
  measure.derive(layers, results);
  EXPECT_EQ(results.at("largest_logit", {0, 0}), 9);
  EXPECT_TRUE(std::isnan(results.at("largest_logit", {0, 1})));
  EXPECT_EQ(results.at("largest_logit", {0, 2}), -3);
}

}  // namespace
}  // namespace headgauge
