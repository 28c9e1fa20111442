// The distance group for a block of rows: distances at every size, their bounds, the expected
// distances, and the values from which critical N is derived (docs/mathematics.md 2, 7a).
#pragma once

#include <vector>

#include "measures/critical.hpp"
#include "measures/distance.hpp"
#include "measures/selection_sums.hpp"

namespace headgauge {

// The metrics of rows in the group.
struct DistanceMetrics {
  MetricHandle selected_mass, distance, bound, bound_paper;
  MetricHandle expected, expected_upper, expected_context, margin;
  CriticalMetrics critical;
  // Declares these and the derived metrics of the group; their dims must have been named.
  void declare(MetricRegistry& metrics);
};

// Measures one block of rows after another; each thread has its own.
class DistanceRows {
 public:
  // Sets every metric of the group for the rows of the block of `sums`. Without a Gram matrix the
  // metrics that need distances between all keys stay undefined.
  void measure(const RowBlock& rows, const SelectionSums& sums, const CrossDistance& cross,
               const DistanceMetrics& metrics, RowSink& sink);

 private:
  void project(const RowBlock& rows, const SelectionBlock& block, const Gram& gram);
  void measure_sizes(Index row, const SelectionSums& sums, const CrossDistance& cross,
                     const DistanceMetrics& metrics, RowSink& sink);
  void measure_critical(const SelectionSums& sums, const CriticalMetrics& metrics, RowSink& sink);
  // Returns <x_j, Y> / |x_j| by column of a row's panels; +inf if the column is not a key.
  std::span<float> projection(const SelectionBlock::Line& line, Index row);

  Index stride_ = 0;                         // columns of a row
  AlignedVector<float> gathered_;            // rows x Gram rows: sums of the weights of each vector
  AlignedVector<float> projection_;          // rows x columns
  std::vector<double> total_square_;         // |Y|^2, by row
  AlignedVector<float> distance_, context_;  // rows x critical x lanes
  std::vector<PrefixDistances> prefixes_;
  AlignedVector<float> context_vectors_;  // Y, rows x dimension
  CrossDistance::Scratch scratch_;
};

}  // namespace headgauge
