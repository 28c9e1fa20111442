// The distance group for a block of rows: distances at every size, their bounds, the expected
// distances, and what critical N is found from (docs/mathematics.md 2, 7a).
#pragma once

#include <vector>

#include "measures/critical.hpp"
#include "measures/distance.hpp"
#include "measures/sampled.hpp"
#include "measures/selection_sums.hpp"

namespace headgauge {

// The metrics of rows of the group.
struct DistanceMetrics {
  MetricHandle selected_mass, distance, bound, bound_paper;
  MetricHandle expected, expected_upper, expected_context, margin;
  MetricHandle sampled, sampled_variance;  // only with draws
  CriticalMetrics critical;
  // Declares these and the derived metrics of the group; their dims have been named.
  void declare(MetricRegistry& metrics, const SelectionPlan& plan);
};

// Measures the rows of one block after another; one for each thread.
class DistanceRows {
 public:
  // Sets every metric of the group for the rows of the block that `sums` are of. Without a Gram
  // matrix those that need distances between all keys are left undefined.
  void measure(const RowBlock& rows, const SelectionSums& sums, const CrossDistance& cross,
               const DistanceMetrics& metrics, RowSink& sink);

 private:
  void project(const RowBlock& rows, const SelectionBlock& block, const Gram& gram);
  void measure_sizes(Index row, bool is_signed, const SelectionSums& sums,
                     const CrossDistance& cross, const DistanceMetrics& metrics, RowSink& sink);
  void measure_critical(const SelectionSums& sums, const CriticalMetrics& metrics, RowSink& sink);
  void measure_sampled(const RowBlock& rows, const SelectionBlock& block,
                       const DistanceMetrics& metrics, RowSink& sink);
  // <x_j, Y> / |x_j| by column of a row's panels; +inf where there is no key.
  std::span<float> projection(const SelectionBlock::Line& line, Index row);

  Index stride_ = 0;                         // columns of a row
  AlignedVector<float> gathered_;            // rows x Gram rows: weights added up by vector
  AlignedVector<float> projection_;          // rows x columns
  std::vector<double> total_square_;         // |Y|^2, by row
  AlignedVector<float> distance_, context_;  // rows x critical x lanes
  std::vector<PrefixDistances> prefixes_;
  AlignedVector<float> context_vectors_;  // Y, rows x dimension
  CrossDistance::Scratch scratch_;
  SampledDistances sampled_;
};

}  // namespace headgauge
