#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "headgauge/results.hpp"
#include "kernels/levels.hpp"
#include "measures/sensitivity.hpp"
#include "measures/sensitivity_oracle.hpp"

namespace headgauge {
namespace {

// A block of causal rows 0..rows-1 of one head, as the engine would show it.
struct Block {
  explicit Block(Index rows, const Normalizer& rule) : weights(rows, rows) {
    for (Index t = 0; t < rows; ++t) {
      auto row = normals(t + 1, static_cast<std::uint64_t>(t), 2.0);
      // Two and three keys alike at the top, and all alike.
      for (Index k = 0; k < t % 4; ++k) {
        row[static_cast<std::size_t>(k)] = *std::ranges::max_element(row);
      }
      if (t == 12) std::ranges::fill(row, 1.5f);
      logits.push_back(std::move(row));
    }
    for (Index t = 0; t < rows; ++t) {
      Row row;
      row.query = t;
      row.keys = {0, t + 1};
      row.logits = logits[static_cast<std::size_t>(t)];
      const auto out = weights.row(t).first(row.logits.size());
      row.sums = rule.weigh(row.logits, {t + 1, t}, out);
      row.weights = out;
      list.push_back(row);
    }
    head.layer = 3;
    head.head = 7;
    head.document = 2;
    block = {&head, &rule, list, {}};
  }
  std::vector<std::vector<float>> logits;
  Matrix<float> weights;
  std::vector<Row> list;
  HeadInput head;
  RowBlock block;
};

// The cells that a measure fills, in the order of its row metrics.
Matrix<double> observe(Measure& measure, const Block& block) {
  Index cells = 0;
  for (const MetricInfo& metric : measure.metrics()) {
    if (metric.kind == MetricKind::derived) continue;
    Index count = 1;
    for (const std::string& dim : metric.dims) count *= measure.dim_size(dim);
    cells += count;
  }
  Matrix<double> values(static_cast<Index>(block.list.size()), cells + 2);
  for (Index r = 0; r < values.rows(); ++r) std::ranges::fill(values.row(r), kUndefined);
  RowSink sink(values, 1);
  measure.observe(block.block, 0, sink);
  for (Index r = 0; r < values.rows(); ++r) {
    EXPECT_TRUE(std::isnan(values(r, 0)) && std::isnan(values(r, cells + 1))) << "a foreign cell";
  }
  return values;
}

MeasureOptions small_grid() {
  MeasureOptions options;
  options.temperatures = {0.05, 1.0};
  options.epsilons = {1e-3, 0.5, 10.0};
  options.seed = 11;
  return options;
}

TEST(SensitivityMeasure, FillsItsCells) {
  for (const char* spec : {"softmax", "softmax:t=0.5"}) {
    const auto rule = make_normalizer(spec);
    const double scale = 1 / (2 * rule->traits().lipschitz);
    for (const auto direction :
         {MeasureOptions::Direction::random, MeasureOptions::Direction::top2}) {
      MeasureOptions options = small_grid();
      options.direction = direction;
      const auto measure = make_sensitivity_measure(options, 1);
      EXPECT_TRUE(measure->needs().weights);
      EXPECT_EQ(measure->dim_size("temperature"), 2);
      EXPECT_EQ(measure->dim_size("epsilon"), 3);
      const Block block(20, *rule);
      const Matrix<double> values = observe(*measure, block);
      // One key: nothing to move, and a Jacobian of 0.
      for (Index c = 0; c < 7; ++c) EXPECT_TRUE(std::isnan(values(0, 1 + c))) << c;
      for (Index c = 7; c < 9; ++c) EXPECT_EQ(values(0, 1 + c), 0.0) << c;
      for (std::size_t t = 1; t < 20; ++t) {
        const auto& logits = block.logits[t];
        std::vector<double> v(logits.size());
        if (direction == MeasureOptions::Direction::random) {
          RandomStream(11, RandomDomain::sensitivity_direction, 3 * 65536 + 7,
                       static_cast<std::uint32_t>(t + (2u << 20)))
              .normals(v);
          double norm = 0;
          for (double x : v) norm += x * x;
          for (double& x : v) x /= std::sqrt(norm);
        } else {
          v = top2(logits);
        }
        const auto row = static_cast<Index>(t);
        for (std::size_t i = 0; i < 2; ++i) {
          for (std::size_t e = 0; e < 3; ++e) {
            const double expected =
                gain(logits, v, scale * options.temperatures[i], options.epsilons[e]);
            EXPECT_NEAR(values(row, 1 + static_cast<Index>(i * 3 + e)), expected,
                        5e-6 * expected + 1e-12)
                << spec << " " << t;
          }
        }
        const double expected = gain(logits, top2(logits), scale, 1e-3);
        EXPECT_NEAR(values(row, 7), expected, 1e-5 * expected + 1e-12) << spec << " " << t;
        const Row& at = block.list[t];
        const auto norms = rule->jacobian_norms(at.logits, at.weights, at.sums, {at.n(), at.query});
        EXPECT_EQ(values(row, 8), norms.frobenius);
        EXPECT_EQ(values(row, 9), norms.spectral);
        EXPECT_EQ(values(row, 10), norms.bound);
        EXPECT_EQ(values(row, 11), norms.bound_paper);
      }
    }
  }
}

TEST(SensitivityMeasure, DerivesBoundsAndTheMaximumOverHeads) {
  // Each head under a rule of its own: its bound is that rule's.
  const auto plain = make_normalizer("softmax"), sharp = make_normalizer("softmax:t=0.5");
  const MeasureOptions options = small_grid();
  const auto measure = make_sensitivity_measure(options, 3);
  for (const auto& [layer, head] : {std::pair{0, 0}, {0, 1}, {5, 1}}) {
    Block block(3, head == 0 ? *plain : *sharp);
    block.head.layer = layer;
    block.head.head = head;
    observe(*measure, block);
  }
  Results results;
  results.set_coord("layer", std::vector<double>{0, 5});
  results.set_coord("head", std::vector<double>{0, 1});
  results.set_coord("temperature", options.temperatures);
  results.set_coord("epsilon", options.epsilons);
  const std::vector<std::string> dims = {"layer", "head", "temperature", "epsilon"};
  LabelledArray& mean = results.add_metric("sensitivity", dims, "1");
  // Head (1, 0) is left out of the scan.
  for (std::size_t i = 0; i < mean.values.size(); ++i) {
    if (i / 6 != 2) mean.values[i] = static_cast<double>(i * 7 % 24);
  }
  measure->derive({}, results);
  for (const char* name : {"sensitivity_bound", "sensitivity_bound_paper"}) {
    ASSERT_NE(results.metric(name), nullptr);
    EXPECT_EQ(results.metric(name)->dims, dims);
  }
  for (Index l = 0; l < 2; ++l) {
    for (Index h = 0; h < 2; ++h) {
      for (Index t = 0; t < 2; ++t) {
        for (Index e = 0; e < 3; ++e) {
          const double bound = results.at("sensitivity_bound", {l, h, t, e});
          const double paper = results.at("sensitivity_bound_paper", {l, h, t, e});
          if (l == 1 && h == 0) {
            EXPECT_TRUE(std::isnan(bound) && std::isnan(paper));
            continue;
          }
          const double temperature = options.temperatures[static_cast<std::size_t>(t)];
          const double epsilon = options.epsilons[static_cast<std::size_t>(e)];
          const double lipschitz = h == 0 ? 0.5 : 1.0;
          EXPECT_DOUBLE_EQ(bound, std::min(lipschitz / temperature, std::sqrt(2.0) / epsilon));
          EXPECT_DOUBLE_EQ(paper, std::min(1 / (4 * temperature), std::sqrt(2.0)));
        }
      }
    }
  }
  ASSERT_EQ(results.metric("sensitivity_max")->dims,
            (std::vector<std::string>{"temperature", "epsilon"}));
  for (std::size_t c = 0; c < 6; ++c) {
    const double expected = std::max({mean.values[c], mean.values[6 + c], mean.values[18 + c]});
    EXPECT_EQ(results.metric("sensitivity_max")->values[c], expected) << c;
  }
}

TEST(SensitivityMeasure, RefusesAGridOutOfRange) {
  for (const double bad :
       {0.0, -1.0, 1e-10, 2e9, std::nan(""), std::numeric_limits<double>::infinity()}) {
    MeasureOptions options = small_grid();
    options.temperatures.push_back(bad);
    EXPECT_THROW(make_sensitivity_measure(options, 1), UsageError) << bad;
    options = small_grid();
    options.epsilons.push_back(bad);
    EXPECT_THROW(make_sensitivity_measure(options, 1), UsageError) << bad;
  }
}

TEST(SensitivityMeasure, DefaultsToThePapersGrid) {
  const auto measure = make_sensitivity_measure(MeasureOptions{}, 1);
  EXPECT_EQ(measure->dim_size("temperature"), 31);
  EXPECT_EQ(measure->dim_size("epsilon"), 3);
}

}  // namespace
}  // namespace headgauge
