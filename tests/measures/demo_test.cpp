// Rows of a trained model: the sampled expected distance lies between the expectation term and the
// upper bound of T1.2 (docs/mathematics.md 2).
#include <gtest/gtest.h>

#include <cmath>

#include "headgauge/headgauge.hpp"
#include "measures/made_heads.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

// A head of the demo model on its text, as the driver takes it.
MadeHead own_head(const HeadInput& head) {
  const Index length = head.queries.rows();
  MadeHead made;
  made.layer = head.layer;
  made.head = head.head;
  made.logits = Matrix<float>(length, length);
  for (Index q = 0; q < length; ++q) {
    for (Index k = 0; k <= q; ++k) {
      double sum = 0;
      for (Index i = 0; i < head.queries.cols(); ++i) {
        sum += static_cast<double>(head.queries(q, i)) * head.keys(k, i);
      }
      made.logits(q, k) = static_cast<float>(sum * head.scale);
    }
  }
  made.rows = Matrix<float>(length, head.x.rows.cols());
  for (Index j = 0; j < length; ++j) std::ranges::copy(head.x[j], made.rows.row(j).begin());
  return made;
}

// How often a sampled mean lies beyond a bound by more than its errors.
struct Beyond {
  int cells = 0, below = 0, above = 0;
  void add(double sampled, double error, double lower, double upper, const std::string& where) {
    ++cells;
    below += sampled + 3.0 * error < lower * (1.0 - 1e-5);
    above += sampled - 3.0 * error > upper * (1.0 + 1e-5);
    EXPECT_GE(sampled + 6.0 * error, lower * (1.0 - 1e-5)) << where;
    EXPECT_LE(sampled - 6.0 * error, upper * (1.0 + 1e-5)) << where;
  }
};

TEST(DemoRows, SampledExpectedDistanceLiesBetweenItsBounds) {
  const std::string folder = testing::source_path("demo/model");
  if (!testing::exists(folder + "/model.safetensors")) GTEST_SKIP() << "no demo model";
  auto ids = Tokenizer::load(folder).encode(read_text_file(testing::source_path("demo/text.txt")));
  ids.resize(512);
  const auto source = make_model_source(resolve_model(folder), {{"text.txt", ids, ""}}, {});

  MeasureOptions options;
  options.top_n = {1, 5, 20, 100};
  options.critical_max = 2;
  options.expected_draws = 256;
  SelectionDriver driver(options, {true, false, false}, 2);
  int rows = 0;
  Beyond each, means;
  for (const int layer : {0, 2, 5}) {
    const auto heads = source->layer(layer, 0);
    const MadeHead head = own_head(heads[static_cast<std::size_t>(layer % 3)]);
    const RowValues values = driver.run(head);
    rows += static_cast<int>(head.length()) - 1;
    for (Index cell = 0; cell < 4; ++cell) {
      const int size = options.top_n[static_cast<std::size_t>(cell)];
      double sampled = 0, variance = 0, lower = 0, upper = 0, count = 0;
      for (Index q = size; q < head.length(); ++q) {
        const auto at = [&](const char* metric) { return values.find(metric)->second(q, cell); };
        ASSERT_GT(at("expected_distance"), 0.0);
        ++count;
        sampled += at("expected_distance_sampled");
        variance += at("expected_distance_sampled_variance");
        lower += at("expected_distance");
        upper += at("expected_distance_upper");
        // A key with most of the weight is in one of n/N sets: a row by itself says something only
        // where the sets drawn hold it often.
        if (options.expected_draws * size < 50 * (q + 1)) continue;
        each.add(at("expected_distance_sampled"),
                 std::sqrt(at("expected_distance_sampled_variance")), at("expected_distance"),
                 at("expected_distance_upper"),
                 "layer " + std::to_string(layer) + " row " + std::to_string(q));
      }
      means.add(sampled / count, std::sqrt(variance) / count, lower / count, upper / count,
                "layer " + std::to_string(layer) + " N = " + std::to_string(size));
    }
  }
  EXPECT_GT(rows, 1000);
  EXPECT_GT(each.cells, 1000);
  // Beyond three standard errors by chance: 1 of 740 on either side.
  EXPECT_LE(each.below + each.above, each.cells / 100);
  EXPECT_EQ(means.below + means.above, 0);
}

}  // namespace
}  // namespace headgauge
