#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "headgauge/results.hpp"
#include "kernels/levels.hpp"
#include "measures/pass_part.hpp"
#include "measures/row_values.hpp"
#include "measures/sensitivity.hpp"
#include "measures/sensitivity_oracle.hpp"

namespace headgauge {
namespace {

// A block of causal rows 0..rows-1 of one head, as the engine would show it.
struct Block {
  explicit Block(Index rows, const Normalizer& normalizer) : weights(rows, rows) {
    for (Index t = 0; t < rows; ++t) {
      auto row = normals(t + 1, static_cast<std::uint64_t>(t), 2.0);
      // Two and three keys alike at the top, and all alike.
      for (Index k = 0; k < t % 4; ++k) {
        row[k] = *std::ranges::max_element(row);
      }
      if (t == 12) std::ranges::fill(row, 1.5f);
      logits.push_back(std::move(row));
    }
    for (Index t = 0; t < rows; ++t) {
      Row row;
      row.query = t;
      row.keys = {0, t + 1};
      row.logits = logits[t];
      const auto out = weights.row(t).first(row.logits.size());
      row.sums = normalizer.weigh(row.logits, {t + 1, t}, out);
      row.weights = out;
      list.push_back(row);
    }
    head.layer = 3;
    head.head = 7;
    head.document = 2;
    block = {&head, &normalizer, list};
  }
  std::vector<std::vector<float>> logits;
  Matrix<float> weights;
  std::vector<Row> list;
  HeadInput head;
  RowBlock block;
};

std::vector<std::unique_ptr<Measure>> measure_of(const MeasureOptions& options, int slots) {
  return list_of(make_sensitivity_measure(options, slots));
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
    const auto normalizer = make_normalizer(spec);
    const double scale = 1 / (2 * normalizer->traits().lipschitz);
    const MeasureOptions options = small_grid();
    const auto measures = measure_of(options, 1);
    EXPECT_TRUE(measures.front()->needs().weights);
    const Block block(20, *normalizer);
    RowValues values = observed(measures, block.block);
    const Matrix<double>& grid = values["sensitivity"];
    ASSERT_EQ(grid.cols(), 6);
    // One key: nothing to move, and a Jacobian of 0.
    for (Index c = 0; c < 6; ++c) EXPECT_TRUE(std::isnan(grid(0, c))) << c;
    EXPECT_TRUE(std::isnan(values["sensitivity_top2"](0, 0)));
    EXPECT_EQ(values["jacobian_frobenius"](0, 0), 0.0);
    EXPECT_EQ(values["jacobian_spectral"](0, 0), 0.0);
    for (std::size_t t = 1; t < 20; ++t) {
      const auto& logits = block.logits[t];
      std::vector<double> v(logits.size());
      RandomStream(11, RandomDomain::sensitivity_direction, 3 * 65536 + 7,
                   static_cast<std::uint32_t>(t + (2u << 20)))
          .normals(v);
      double norm = 0;
      for (double x : v) norm += x * x;
      for (double& x : v) x /= std::sqrt(norm);
      const auto row = static_cast<Index>(t);
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t e = 0; e < 3; ++e) {
          const double expected =
              gain(logits, v, scale * options.temperatures[i], options.epsilons[e]);
          EXPECT_NEAR(grid(row, i * 3 + e), expected, 5e-6 * expected + 1e-12) << spec << " " << t;
        }
      }
      const double expected = gain(logits, top2(logits), scale, 1e-3);
      EXPECT_NEAR(values["sensitivity_top2"](row, 0), expected, 1e-5 * expected + 1e-12)
          << spec << " " << t;
      const Row& at = block.list[t];
      const auto norms =
          normalizer->jacobian_norms(at.logits, at.weights, at.sums, {at.n(), at.query});
      EXPECT_EQ(values["jacobian_frobenius"](row, 0), norms.frobenius);
      EXPECT_EQ(values["jacobian_spectral"](row, 0), norms.spectral);
      EXPECT_EQ(values["jacobian_bound"](row, 0), norms.bound);
      EXPECT_EQ(values["jacobian_bound_paper"](row, 0), norms.bound_paper);
    }
  }
}

// Under a normalizer without a kernel for steps: the norms of every row, steps on the short rows
// and on one of each group of long ones, which stands for it.
TEST(SensitivityMeasure, DrawsOneOfEachGroupOfLongRows) {
  constexpr Index kRows = 200, kShort = 128;
  const auto normalizer = make_normalizer("sigmoid");
  const MeasureOptions options = small_grid();
  const auto measures = measure_of(options, 1);
  Block block(kRows, *normalizer);
  for (Index t = 0; t < kRows; ++t) {
    const Index first = t / 16 * 16;
    block.list[t].group = {first, std::min<Index>(16, kRows - first), t - first};
  }
  std::vector<std::vector<Index>> drawn;
  for (const int head : {7, 8}) {
    block.head.head = head;
    RowValues counts;
    RowValues values = observed(measures, block.block, &counts);
    const Matrix<double>&grid = values["sensitivity"], &top2 = values["sensitivity_top2"];
    const Matrix<double>& of_grid = counts["sensitivity"];
    std::vector<Index> rows;
    double total = 0;
    for (Index t = 1; t < kRows; ++t) {
      for (const char* norm : {"jacobian_frobenius", "jacobian_spectral", "jacobian_bound"}) {
        EXPECT_TRUE(std::isfinite(values[norm](t, 0))) << norm << " " << t;
        EXPECT_EQ(counts[norm](t, 0), 1);
      }
      EXPECT_EQ(std::isnan(grid(t, 0)), std::isnan(top2(t, 0)));
      if (std::isnan(grid(t, 0))) continue;
      EXPECT_EQ(of_grid(t, 0), counts["sensitivity_top2"](t, 0));
      EXPECT_EQ(of_grid(t, 0), of_grid(t, 5));
      if (t < kShort) {
        EXPECT_EQ(of_grid(t, 0), 1);
      } else {
        rows.push_back(t);
        total += of_grid(t, 0);
      }
    }
    EXPECT_EQ(rows.size(), 5u);
    EXPECT_EQ(total, kRows - kShort);
    drawn.push_back(rows);
  }
  EXPECT_NE(drawn[0], drawn[1]);  // each head has draws of its own
}

TEST(SensitivityMeasure, DerivesBoundsAndTheMaximumOverHeads) {
  // Each head under a normalizer of its own: its bound is that normalizer's.
  const auto plain = make_normalizer("softmax"), sharp = make_normalizer("softmax:t=0.5");
  const MeasureOptions options = small_grid();
  const auto measures = measure_of(options, 3);
  ThreadPool pool(1);
  for (const auto& [layer, head] : {std::pair{0, 0}, {0, 1}, {5, 1}}) {
    Block block(3, head == 0 ? *plain : *sharp);
    block.head.layer = layer;
    block.head.head = head;
    observed(measures, block.block);
    pass_part(*measures.front(), 0, pool);
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
  measures.front()->derive({}, results);
  for (const char* name : {"sensitivity_bound", "sensitivity_bound_paper"}) {
    ASSERT_NE(results.metric(name), nullptr);
    EXPECT_EQ(results.metric(name)->dim_names(), dims);
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
          const double temperature = options.temperatures[t];
          const double epsilon = options.epsilons[e];
          const double lipschitz = h == 0 ? 0.5 : 1.0;
          EXPECT_DOUBLE_EQ(bound, std::min(lipschitz / temperature, std::sqrt(2.0) / epsilon));
          EXPECT_DOUBLE_EQ(paper, std::min(1 / (4 * temperature), std::sqrt(2.0)));
        }
      }
    }
  }
  ASSERT_EQ(results.metric("sensitivity_max")->dim_names(),
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
  const auto measures = measure_of(MeasureOptions{}, 1);
  const CellLayout layout(measures);
  for (const auto& [dim, entries] : layout.written_coords()) {
    const std::size_t size = std::get<std::vector<double>>(entries).size();
    EXPECT_EQ(size, dim == "temperature" ? 31 : 3) << dim;
  }
  EXPECT_EQ(layout.written_coords().size(), 2);
}

}  // namespace
}  // namespace headgauge
