// Means and batch-means standard errors against their definition, computed directly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>

#include "faults.hpp"
#include "scan/statistics.hpp"

namespace headgauge {
namespace {

// values[d][q]: value of row q of document d; NaN where undefined.
using Rows = std::vector<std::vector<double>>;

Rows random_rows(std::span<const Index> lengths, double undefined_share) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(3.0, 1.0);
  std::uniform_real_distribution<double> uniform(0, 1);
  Rows rows;
  for (Index length : lengths) {
    auto& document = rows.emplace_back();
    for (Index q = 0; q < length; ++q) {
      document.push_back(uniform(random) < undefined_share ? kUndefined : normal(random));
    }
  }
  return rows;
}

// Documents are the batches where at least four hold all of the rows.
Estimate direct(const Rows& rows, Index begin, Index end) {
  std::map<std::pair<std::size_t, Index>, std::pair<double, double>> blocks;  // sum, rows
  std::map<std::size_t, std::pair<double, double>> documents;
  Estimate result;
  double sum = 0;
  int holders = 0;
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (static_cast<Index>(rows[d].size()) < end) continue;
    ++holders;
    for (Index q = begin; q < end; ++q) {
      const double value = rows[d][q];
      if (std::isnan(value)) continue;
      blocks[{d, q / 64}].first += value;
      blocks[{d, q / 64}].second += 1;
      documents[d].first += value;
      documents[d].second += 1;
      sum += value;
      ++result.rows;
    }
  }
  if (result.rows == 0) return result;
  const auto n = static_cast<double>(result.rows);
  result.value = sum / n;
  const auto error = [&](const auto& batches) {
    const auto k = static_cast<double>(batches.size());
    if (k < 4) return kUndefined;
    double squares = 0;
    for (const auto& [key, batch] : batches) {
      const double deviation = batch.first / batch.second - result.value;
      squares += batch.second * batch.second * deviation * deviation;
    }
    return std::sqrt(k / (k - 1) * squares) / n;
  };
  result.standard_error = holders >= 4 ? error(documents) : error(blocks);
  if (!std::isnan(result.standard_error)) {
    const auto batches = holders >= 4 ? documents.size() : blocks.size();
    result.degrees_of_freedom = static_cast<double>(batches) - 1;
  }
  return result;
}

void expect_same(const Estimate& found, const Estimate& expected) {
  EXPECT_EQ(found.rows, expected.rows);
  const auto same = [](double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-12 * std::abs(b);
  };
  EXPECT_TRUE(same(found.value, expected.value)) << found.value << " " << expected.value;
  EXPECT_TRUE(same(found.standard_error, expected.standard_error))
      << found.standard_error << " " << expected.standard_error;
  EXPECT_TRUE(same(found.degrees_of_freedom, expected.degrees_of_freedom))
      << found.degrees_of_freedom << " " << expected.degrees_of_freedom;
}

Matrix<double> ones_like(const Matrix<double>& values) {
  Matrix<double> ones(values.rows(), values.cols());
  for (Index r = 0; r < ones.rows(); ++r) std::ranges::fill(ones.row(r), 1.0);
  return ones;
}

// Declares what a test says.
class Declares final : public Measure {
 public:
  explicit Declares(std::function<void(MetricRegistry&)> declare) : declare_(std::move(declare)) {}
  void declare(MetricRegistry& metrics) override { declare_(metrics); }
  MeasureNeeds needs() const override { return {}; }
  void observe(const RowBlock&, int, RowSink&) override {}

 private:
  std::function<void(MetricRegistry&)> declare_;
};

std::vector<std::unique_ptr<Measure>> declaring(
    std::initializer_list<std::function<void(MetricRegistry&)>> declarations) {
  std::vector<std::unique_ptr<Measure>> measures;
  for (const auto& declare : declarations) measures.push_back(std::make_unique<Declares>(declare));
  return measures;
}

MetricInfo metric(const std::string& name, std::vector<std::string> dims = {},
                  MetricKind kind = MetricKind::row_mean) {
  MetricInfo info;
  info.name = name;
  info.dims = std::move(dims);
  info.kind = kind;
  return info;
}

// Metrics by length and position, of which the first is never defined, one by length alone and one
// at the longest length.
struct Cells {
  MetricHandle none, value, by_length, longest;
  const CellLayout layout{declaring({[this](MetricRegistry& metrics) {
    MetricInfo info = metric("none");
    info.by_position = true;
    none = metrics.add(info);
    info.name = "value";
    value = metrics.add(info);
    by_length = metrics.add(metric("by_length"));
    longest = metrics.add(metric("longest", {}, MetricKind::row_longest));
  }})};
};

// The sums of one document, `write`: as they are when they were written and read.
HeadSums sums_of(const MeasuredRows& plan, const Cells& cells, Index d,
                 const std::vector<double>& rows, bool write) {
  HeadSums sums(plan, cells.layout);
  sums.begin(d);
  for (const Tile& tile : sums.document().tiles) {
    Matrix<double> values(std::ssize(tile.queries), 4);
    for (Index r = 0; r < values.rows(); ++r) {
      values(r, 0) = kUndefined;
      for (Index cell = 1; cell < 4; ++cell) {
        values(r, cell) = rows[tile.queries[r]];
      }
    }
    sums.add(tile, values.view(), ones_like(values).view());
  }
  sums.finish();
  if (!write) return sums;
  ByteWriter part;
  sums.write(part);
  const Bytes bytes = part.take();
  ByteReader reader(bytes);
  HeadSums read(plan, cells.layout);
  read.read(d, reader);
  EXPECT_TRUE(reader.at_end());
  return read;
}

void check(const std::vector<Index>& document_lengths, double undefined_share) {
  const std::vector<int> lengths = {32, 100, 256, 600};
  const MeasuredRows plan(lengths, document_lengths, 0, 0);
  const Rows rows = random_rows(document_lengths, undefined_share);
  const Cells cells;
  LayerTable table(plan, cells.layout, 1);
  for (std::size_t d = 0; d < rows.size(); ++d) {
    const auto document = static_cast<Index>(d);
    const HeadSums sums = sums_of(plan, cells, document, rows[d], d % 2 == 1);
    table.add(0, sums);
    // The means of one document are those of a text by itself.
    for (Index l = 0; l < std::ssize(lengths); ++l) {
      const double own = direct({rows[d]}, 0, lengths[l]).value;
      EXPECT_TRUE(std::isnan(sums.at(cells.none, l, 0)));
      if (std::isnan(own)) {
        EXPECT_TRUE(std::isnan(sums.at(cells.value, l, 0)));
      } else {
        EXPECT_NEAR(sums.at(cells.value, l, 0), own, 1e-12);
      }
    }
  }
  table.finish();
  for (std::size_t l = 0; l < lengths.size(); ++l) {
    const auto length = static_cast<Index>(l);
    expect_same(table.at(cells.value, 0, length, 0), direct(rows, 0, lengths[l]));
    expect_same(table.at(cells.by_length, 0, length, 0), direct(rows, 0, lengths[l]));
    expect_same(table.at(cells.longest, 0, length, 0), direct(rows, 0, lengths.back()));
    expect_same(table.at(cells.none, 0, length, 0), Estimate{});
  }
  Index begin = 0;
  for (std::size_t b = 0; b < plan.edges().size(); ++b) {
    const Index end = plan.edges()[b];
    expect_same(table.at_position(cells.value, 0, static_cast<Index>(b), 0),
                direct(rows, begin, end));
    begin = end;
  }
}

TEST(Statistics, OneDocument) {
  check({600}, 0);
}
TEST(Statistics, UndefinedRowsDoNotCount) {
  check({600}, 0.5);
}
TEST(Statistics, ShortDocumentsAreLeftOutOfLongLengths) {
  check({600, 256, 100}, 0.1);
}
TEST(Statistics, FourDocumentsAreTheBatches) {
  check({600, 600, 256, 256, 600, 600, 32}, 0.1);
}
// The longest of them hold their own length alone: their blocks are the batches there.
TEST(Statistics, DocumentsAreTheBatchesOfShortLengthsAlone) {
  check({600, 256, 256, 100, 100, 600, 32}, 0.1);
}
// Of four documents three have values: too few batches for an error.
TEST(Statistics, DocumentsWithoutValuesAreNoBatches) {
  const std::vector<int> lengths = {256};
  const std::vector<Index> documents(4, 256);
  const MeasuredRows plan(lengths, documents, 0, 0);
  Rows rows = random_rows(documents, 0);
  rows[2].assign(256, kUndefined);
  const Cells cells;
  LayerTable table(plan, cells.layout, 1);
  for (Index d = 0; d < 4; ++d) {
    table.add(0, sums_of(plan, cells, d, rows[d], false));
  }
  table.finish();
  expect_same(table.at(cells.value, 0, 0, 0), direct(rows, 0, 256));
  EXPECT_TRUE(std::isnan(table.at(cells.value, 0, 0, 0).standard_error));
}

// However far the values are from 0, and the first batch from the others.
TEST(Statistics, ErrorsKeepTheirDigits) {
  for (const double offset : {0.0, 1e6}) {
    for (const double first : {0.0, 1e4}) {
      const std::vector<Index> lengths(40, 96);
      Rows rows = random_rows(lengths, 0);
      for (auto& document : rows) {
        for (double& value : document) value += offset;
      }
      for (double& value : rows.front()) value += first;
      const Estimate found = series_statistics(rows, 96), expected = direct(rows, 0, 96);
      EXPECT_NEAR(found.standard_error / expected.standard_error, 1, 1e-9) << offset << first;
    }
  }
  EXPECT_EQ(series_statistics(Rows(5, std::vector<double>(64, 1.0 / 3)), 64).standard_error, 0);
}

TEST(Statistics, SeriesAgreeWithTheirDefinition) {
  const std::vector<Index> lengths = {500, 400, 100};
  const Rows rows = random_rows(lengths, 0);
  for (Index count : {99, 100, 256, 399, 500}) {
    expect_same(series_statistics(rows, count), direct(rows, 0, count));
  }
}

TEST(Layout, MetricsTakeTheirCellsInTheOrderThatTheyAreDeclared) {
  MetricHandle first, grid, derived, longest;
  const CellLayout layout(
      declaring({[&](MetricRegistry& metrics) {
                   metrics.coord("size", std::vector<double>{1, 5});
                   metrics.coord("normalizer", std::vector<std::string>{"a", "b", "c"});
                   first = metrics.add(metric("first"));
                   grid = metrics.add(metric("grid", {"size", "normalizer"}));
                 },
                 [&](MetricRegistry& metrics) {
                   metrics.coord("size", std::vector<double>{1, 5});
                   metrics.coord("depth", std::vector<double>{1, 2, 3});
                   derived = metrics.add(metric("derived", {"layer"}, MetricKind::derived));
                   longest = metrics.add(metric("longest", {"size"}, MetricKind::row_longest));
                   metrics.add(metric("hidden", {"depth"}, MetricKind::hidden));
                 }}));
  EXPECT_FALSE(MetricHandle{});
  EXPECT_FALSE(derived);
  ASSERT_TRUE(first && grid && longest);
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(grid.count, 6);
  EXPECT_EQ(layout.cells(), 1 + 6 + 2 + 3);
  ASSERT_EQ(layout.ranges().size(), 4u);
  EXPECT_EQ(layout.ranges()[layout.range_of(grid)].metric.name, "grid");
  EXPECT_TRUE(layout.ranges()[layout.range_of(grid)].by_length);
  EXPECT_FALSE(layout.ranges()[layout.range_of(longest)].by_length);

  // Each value lands in a cell of its own, and an empty handle in none.
  Matrix<double> values(2, layout.cells()), stand_for(2, layout.cells());
  RowSink sink(values, stand_for);
  sink.set(1, first, 1.0);
  for (Index i = 0; i < 6; ++i) sink.set(1, grid, i, 2.0 + i);
  sink.set(1, longest, 1, 9.0, 16);
  sink.set(1, derived, 7.0);
  const std::vector<double> expected = {1, 2, 3, 4, 5, 6, 7, 0, 9, 0, 0, 0};
  EXPECT_EQ(std::vector<double>(values.row(1).begin(), values.row(1).end()), expected);
  const std::vector<double> rows = {1, 1, 1, 1, 1, 1, 1, 0, 16, 0, 0, 0};
  EXPECT_EQ(std::vector<double>(stand_for.row(1).begin(), stand_for.row(1).end()), rows);

  // What only hidden metrics have is not written.
  std::vector<std::string> dims;
  for (const auto& [dim, entries] : layout.written_coords()) dims.push_back(dim);
  EXPECT_EQ(dims, (std::vector<std::string>{"size", "normalizer"}));
}

TEST(Layout, RefusesWhatDoesNotFitTogether) {
  const auto complaint = [](std::initializer_list<std::function<void(MetricRegistry&)>> all) {
    return thrown<UsageError>([&] { CellLayout layout(declaring(all)); });
  };
  const auto of_size = [](MetricRegistry& metrics) {
    metrics.coord("size", std::vector<double>{1, 5});
    metrics.add(metric("m", {"size"}));
  };
  const auto wider = [](MetricRegistry& metrics) {
    metrics.coord("size", std::vector<double>{1, 6});
  };
  const auto undeclared = [](MetricRegistry& metrics) { metrics.add(metric("m", {"size"})); };
  EXPECT_EQ(complaint({of_size}), "nothing");
  expect_part(complaint({of_size, of_size}), "the metric m");
  expect_part(complaint({of_size, wider}), "the dim size");
  expect_part(complaint({undeclared}), "\"size\"");
}

// Value of cell c in row q of the only document: 1000 c + q.
TEST(Layout, ATableGivesEveryMetricByItsHandle) {
  MetricHandle grid, longest;
  const CellLayout layout(declaring({[&](MetricRegistry& metrics) {
    metrics.coord("size", std::vector<double>{1, 5});
    longest = metrics.add(metric("longest", {"size"}, MetricKind::row_longest));
    MetricInfo info = metric("grid", {"size"});
    info.by_position = true;
    grid = metrics.add(info);
  }}));
  const std::vector<int> lengths = {4, 8};
  const std::vector<Index> documents = {8};
  const MeasuredRows plan(lengths, documents, 0, 0);
  HeadSums sums(plan, layout);
  sums.begin(0);
  for (const Tile& tile : sums.document().tiles) {
    Matrix<double> values(std::ssize(tile.queries), layout.cells());
    for (Index r = 0; r < values.rows(); ++r) {
      for (Index c = 0; c < values.cols(); ++c) {
        values(r, c) = static_cast<double>(1000 * c + tile.queries[r]);
      }
    }
    sums.add(tile, values.view(), ones_like(values).view());
  }
  sums.finish();
  LayerTable table(plan, layout, 2);
  table.add(1, sums);
  table.finish();
  for (Index inner = 0; inner < 2; ++inner) {
    const auto cell = static_cast<double>(1000 * inner);
    EXPECT_EQ(table.at(grid, 1, 0, inner).value, 2000 + cell + 1.5);
    EXPECT_EQ(table.at(grid, 1, 1, inner).value, 2000 + cell + 3.5);
    EXPECT_EQ(table.at(longest, 1, 1, inner).value, cell + 3.5);
    EXPECT_EQ(table.at_position(grid, 1, 0, inner).value, 2000 + cell);        // position 1
    EXPECT_EQ(table.at_position(grid, 1, 3, inner).value, 2000 + cell + 5.5);  // 5 to 8
  }
  EXPECT_EQ(table.at(grid, 0, 0, 0).rows, 0);
  EXPECT_TRUE(std::isnan(table.at(MetricHandle{}, 1, 0, 0).value));
}

}  // namespace
}  // namespace headgauge
