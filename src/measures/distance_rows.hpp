// The distance group for a block of rows: distances at every size, their bounds, the expected
// distances, and what critical N is found from (math 2, 7a).
#pragma once

#include <vector>

#include "measures/distance.hpp"
#include "measures/sampled.hpp"
#include "measures/selection_block.hpp"
#include "measures/sized_sink.hpp"

namespace headgauge {

// First cells of the row metrics of the group.
struct DistanceCells {
  Index selected_mass = 0, distance = 0, bound = 0, bound_paper = 0;
  Index expected = 0, expected_upper = 0, expected_context = 0, margin = 0;
  Index sampled = -1, sampled_variance = -1;  // -1: not wanted
  Index distance_at_n = 0, context_excess_at_n = 0;
};

// Works out the rows of one block after another; one for each thread.
class DistanceRows {
 public:
  // `block` has its prefix sums. Sets every metric of the group for its rows; without a Gram matrix
  // those that need distances between all keys are left undefined.
  void measure(const RowBlock& rows, const SelectionBlock& block, const SelectionSpace& space,
               const SelectionPlan& plan, const CrossDistance& cross, const DistanceCells& cells,
               SizedSink& sink);

 private:
  void project(const RowBlock& rows, const SelectionBlock& block, const Gram& gram);
  void measure_sizes(Index row, bool is_signed, const SelectionBlock& block, const Gram& gram,
                     const SelectionPlan& plan, const CrossDistance& cross,
                     const DistanceCells& cells, SizedSink& sink);
  void measure_critical(const SelectionBlock& block, const Gram& gram, int depth,
                        const DistanceCells& cells, SizedSink& sink);
  void measure_sampled(const RowBlock& rows, const SelectionBlock& block, const Gram& gram,
                       const SelectionPlan& plan, const DistanceCells& cells, SizedSink& sink);
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
