// Means over rows of which one is drawn from each group: without bias, and with an error that holds
// the draw.
#include "measures/sensitivity.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "scan/statistics.hpp"

namespace headgauge {
namespace {

constexpr int kWorlds = 2000;
constexpr Index kShort = 128;

// One metric, by length and position.
class OneMetric final : public Measure {
 public:
  void declare(MetricRegistry& metrics) override {
    MetricInfo info;
    info.name = "value";
    info.by_position = true;
    metrics.add(info);
  }
  MeasureNeeds needs() const override { return {}; }
  void observe(const RowBlock&, int, RowSink&) override {}
};

std::vector<std::unique_ptr<Measure>> one_metric() {
  std::vector<std::unique_ptr<Measure>> measures;
  measures.push_back(std::make_unique<OneMetric>());
  return measures;
}

class DrawnRows : public ::testing::Test {
 protected:
  static constexpr Index kLength = 700;
  const std::vector<int> lengths_ = {96, 300, 700};
  const std::vector<Index> documents_ = {kLength};
  const MeasuredRows plan_{lengths_, documents_, 0, 0};
  const CellLayout layout_{one_metric()};

  // The statistics of `values`, by row, if rows from kShort on are drawn with this seed; all of
  // them count where there is none.
  LayerTable scanned(const std::vector<double>& values, std::optional<std::uint64_t> seed) const {
    HeadSums sums(plan_, layout_);
    sums.begin(0);
    for (const Tile& tile : sums.document().tiles) {
      Matrix<double> cells(std::ssize(tile.queries), 1), stand_for(std::ssize(tile.queries), 1);
      RowSink sink(cells, stand_for);
      for (Index r = 0; r < cells.rows(); ++r) {
        const Index query = tile.queries[r];
        const RowGroup& group = tile.groups[r];
        cells(r, 0) = kUndefined;
        Index rows = 1;
        if (seed && query >= kShort) {
          rows = drawn_for(
              group, {*seed, RandomDomain::drawn_rows, 3, static_cast<std::uint32_t>(group.first)});
        }
        if (rows > 0) sink.set(r, {0, 1}, 0, values[query], static_cast<double>(rows));
      }
      sums.add(tile, cells.view(), stand_for.view());
    }
    sums.finish();
    LayerTable table(plan_, layout_, 1);
    table.add(0, sums);
    table.finish();
    return table;
  }
  // At the longest length.
  static Estimate longest(const LayerTable& table) { return table.at({0, 1}, 0, 2, 0); }
};

// A trend and jumps: what a draw at fixed places is wrong about.
std::vector<double> uneven(Index length) {
  std::mt19937 random(2);
  std::exponential_distribution<double> jump(1.0);
  std::vector<double> values(length);
  for (Index t = 0; t < length; ++t) {
    values[t] = 5 / std::sqrt(1.0 + static_cast<double>(t)) + (t % 16 == 15 ? 0.5 : 0.0) +
                0.3 * jump(random);
  }
  return values;
}

TEST_F(DrawnRows, EveryGroupHasOneAndItStandsForAll) {
  const auto ones = scanned(std::vector<double>(kLength, 1.0), 7);
  Index begin = 0;
  for (Index bin = 0; bin < std::ssize(plan_.edges()); ++bin) {
    const Index rows = plan_.edges()[bin] - begin;
    const Estimate found = ones.at_position({0, 1}, 0, bin, 0);
    EXPECT_EQ(found.value, 1);
    EXPECT_EQ(found.rows, begin < kShort ? rows : (rows + 15) / 16) << bin;
    begin += rows;
  }
}

TEST_F(DrawnRows, TheMeanOverDrawsIsThatOfAllRows) {
  const std::vector<double> values = uneven(kLength);
  const LayerTable all = scanned(values, std::nullopt);
  // Every length and every bin.
  const auto cells_of = [&](const LayerTable& table) {
    std::vector<double> cells;
    for (Index l = 0; l < 3; ++l) cells.push_back(table.at({0, 1}, 0, l, 0).value);
    for (Index bin = 0; bin < std::ssize(plan_.edges()); ++bin) {
      cells.push_back(table.at_position({0, 1}, 0, bin, 0).value);
    }
    return cells;
  };
  const std::vector<double> cells = cells_of(all);
  std::vector<double> sums(cells.size(), 0.0), squares(cells.size(), 0.0);
  for (int seed = 0; seed < kWorlds; ++seed) {
    const auto drawn = cells_of(scanned(values, static_cast<std::uint64_t>(seed)));
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const double off = drawn[c] - cells[c];
      sums[c] += off;
      squares[c] += off * off;
    }
  }
  int sampled = 0;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const double deviation = std::sqrt(squares[c] / kWorlds);
    EXPECT_LE(std::abs(sums[c] / kWorlds), 4 * deviation / std::sqrt(kWorlds) + 1e-14) << c;
    if (deviation > 1e-6) ++sampled;
  }
  EXPECT_EQ(sampled, 6);  // lengths 300 and 700; bins to 256, 300, 512 and 700
}

// Of one text: the error holds the noise of the draw, and beside it that between blocks.
TEST_F(DrawnRows, TheStatedErrorCoversTheDraw) {
  const std::vector<double> values = uneven(kLength);
  const double exact = longest(scanned(values, std::nullopt)).value;
  int covered = 0;
  for (int seed = 0; seed < kWorlds; ++seed) {
    const Estimate found = longest(scanned(values, static_cast<std::uint64_t>(seed)));
    if (std::abs(found.value - exact) <= 1.96 * found.standard_error) ++covered;
  }
  EXPECT_GE(covered, 0.95 * kWorlds);
}

// Of many texts whose rows are independent and of mean 0: Student's interval covers 0 in 95 % of
// them. With 11 blocks of which two count in full the error has somewhat fewer degrees of freedom
// than are stated.
TEST_F(DrawnRows, TheIntervalCoversTheTruthOverTexts) {
  constexpr double kStudent = 2.228;  // 97.5 %, 10 degrees of freedom
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  int covered = 0;
  for (int world = 0; world < kWorlds; ++world) {
    std::vector<double> values(kLength);
    for (double& v : values) v = normal(random);
    const Estimate found = longest(scanned(values, static_cast<std::uint64_t>(world)));
    EXPECT_EQ(found.degrees_of_freedom, 10);
    if (std::abs(found.value) <= kStudent * found.standard_error) ++covered;
  }
  EXPECT_NEAR(covered, 0.95 * kWorlds, 0.02 * kWorlds);
}

}  // namespace
}  // namespace headgauge
