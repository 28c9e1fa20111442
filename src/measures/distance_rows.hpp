// The distance group for a block of rows: distances at every size, their bounds, the expected
// distances, and the values from which critical N is derived (docs/mathematics.md 2, 7a).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/parallel.hpp"
#include "measures/critical.hpp"
#include "measures/gram.hpp"
#include "measures/selection_sums.hpp"

namespace headgauge {

// The distance of weighted keys from the sum of the selected ones, and bounds on it
// (docs/mathematics.md 2).

// The quantities from which the bounds on dtilde are computed, for one row and one N.
struct DistanceFacts {
  Index n = 0;              // keys
  Index size = 0;           // N
  double selected = 0;      // abar, the sum of the selected weights
  double rest = 0;          // sum of the other weights
  double set_norm = 0;      // |s|
  double largest_norm = 0;  // max |x_j| over I_N
  double scaled_rest = 0;   // sum over O of |a_i| |x_i|
  double cross = 0;         // d_1
};

// Computes min(A3, A4), which holds for every row.
double distance_bound(const DistanceFacts& facts);
// Computes the bound of T1.1 as printed.
double distance_bound_paper(const DistanceFacts& facts);

// Finds d_1 = max over i outside, j in I_N of ||x_i - x_j|| without comparing all pairs: the
// distance from every vector to the farthest key of each panel is known beforehand, and only panels
// that can exceed the best distance so far are searched.
class CrossDistance {
 public:
  CrossDistance() = default;
  CrossDistance(const Gram& gram, ThreadPool& pool);

  // The row that a thread works on.
  struct Scratch {
    std::vector<std::uint32_t> member;  // Gram rows, by rank
    std::vector<float> promise;         // by rank: squared distance to the farthest key
    std::vector<std::uint32_t> seen;    // per Gram row: the last search that included it
    std::uint32_t search = 0;
    Index first_panel = 0;
  };
  // Starts a row with these members, whose keys lie in `panels` panels from `first_panel` on.
  void begin_row(std::span<const std::uint32_t> members, Index first_panel, Index panels,
                 Scratch& scratch) const;
  // Returns d_1 of the first `size` members; `rank` is by column of the row's panels.
  double largest(int size, std::span<const std::int32_t> rank, Scratch& scratch) const;

  static std::size_t bytes(Index rows, Index columns);

 private:
  const Gram* gram_ = nullptr;
  Matrix<float> farthest_;     // rows x panels: max over the panel of |x_j|^2 - 2 <x_i, x_j>
  Matrix<float> prefix_;       // the same over all panels up to this one
  std::vector<float> square_;  // |x_i|^2
};

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
