// What a measure sets for the rows that a test shows it.
#pragma once

#include <map>

#include "faults.hpp"
#include "headgauge/measure.hpp"
#include "scan/statistics.hpp"

namespace headgauge {

// Values of every row, by metric: rows x the metric's own dimension, NaN where they are not set.
using RowValues = std::map<std::string, Matrix<double>, std::less<>>;

inline std::vector<std::unique_ptr<Measure>> list_of(std::unique_ptr<Measure> measure) {
  std::vector<std::unique_ptr<Measure>> list;
  list.push_back(std::move(measure));
  return list;
}

inline Matrix<double> undefined_cells(Index rows, const CellLayout& layout) {
  Matrix<double> cells(rows, layout.cells());
  std::fill_n(cells.data(), rows * layout.cells(), kUndefined);
  return cells;
}

inline RowValues by_metric(const Matrix<double>& cells, const CellLayout& layout) {
  RowValues values;
  for (const CellRange& range : layout.ranges()) {
    Matrix<double> part(cells.rows(), range.handle.count);
    for (Index r = 0; r < part.rows(); ++r) {
      for (Index c = 0; c < part.cols(); ++c) part(r, c) = cells(r, range.handle.first + c);
    }
    values[range.metric.name] = std::move(part);
  }
  return values;
}

// What the first of the measures sets for a block; `counts`: how many rows each value stands for.
inline RowValues observed(const std::vector<std::unique_ptr<Measure>>& measures,
                          const RowBlock& block, RowValues* counts = nullptr) {
  const CellLayout layout(measures);
  Matrix<double> cells = undefined_cells(block.size(), layout);
  Matrix<double> stand_for(cells.rows(), cells.cols());
  RowSink sink(cells, stand_for);
  measures.front()->observe(block, 0, sink);
  if (counts != nullptr) *counts = by_metric(stand_for, layout);
  return by_metric(cells, layout);
}

inline void expect_same_values(const RowValues& found, const RowValues& expected) {
  for (const auto& [metric, values] : expected) {
    const Matrix<double>& others = found.find(metric)->second;
    for (Index r = 0; r < values.rows(); ++r) {
      ASSERT_TRUE(std::ranges::equal(others.row(r), values.row(r), same))
          << metric << ", row " << r;
    }
  }
}

}  // namespace headgauge
