// Means and batch-means standard errors against their definition, computed directly.
#include "scan/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

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

Estimate direct(const Rows& rows, Index begin, Index end) {
  std::map<std::pair<std::size_t, Index>, std::pair<double, double>> blocks;  // sum, rows
  std::map<std::size_t, std::pair<double, double>> documents;
  Estimate result;
  double sum = 0;
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (static_cast<Index>(rows[d].size()) < end) continue;
    for (Index q = begin; q < end; ++q) {
      const double value = rows[d][static_cast<std::size_t>(q)];
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
  result.standard_error = documents.size() >= 4 ? error(documents) : error(blocks);
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
}

void check(const std::vector<Index>& document_lengths, double undefined_share) {
  const std::vector<int> lengths = {32, 100, 256, 600};
  const RowPlan plan(lengths, document_lengths, 0, 0);
  const Rows rows = random_rows(document_lengths, undefined_share);
  HeadAccumulator accumulator(plan, 2);
  for (std::size_t d = 0; d < rows.size(); ++d) {
    for (const Tile& tile : plan.documents()[d].tiles) {
      Matrix<double> values(static_cast<Index>(tile.queries.size()), 2);
      for (Index r = 0; r < values.rows(); ++r) {
        values(r, 0) = kUndefined;
        values(r, 1) = rows[d][static_cast<std::size_t>(tile.queries[static_cast<std::size_t>(r)])];
      }
      accumulator.add(static_cast<Index>(d), tile, values.view());
    }
  }
  for (std::size_t l = 0; l < lengths.size(); ++l) {
    const Index bins = plan.bins_of_length(static_cast<Index>(l));
    expect_same(accumulator.reduce(1, 0, bins), direct(rows, 0, lengths[l]));
    expect_same(accumulator.reduce(0, 0, bins), Estimate{});
  }
  Index begin = 0;
  for (std::size_t b = 0; b < plan.edges().size(); ++b) {
    const Index end = plan.edges()[b];
    const auto bin = static_cast<Index>(b);
    expect_same(accumulator.reduce(1, bin, bin + 1), direct(rows, begin, end));
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

TEST(Statistics, SeriesAgreeWithTheirDefinition) {
  const std::vector<Index> lengths = {500, 400, 100};
  const Rows rows = random_rows(lengths, 0);
  for (Index count : {99, 100, 256, 399, 500}) {
    expect_same(series_statistics(rows, count), direct(rows, 0, count));
  }
}

}  // namespace
}  // namespace headgauge
