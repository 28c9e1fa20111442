// The prefix sums over N of a block of rows, from which the distance and separability of its top
// sets are computed.
#pragma once

#include <span>
#include <vector>

#include "kernels/top_prefixes.hpp"
#include "measures/selection_block.hpp"

namespace headgauge {

class SelectionSums {
 public:
  // q of every set of a row (see PrefixSum).
  struct Separations {
    MatrixView<const float> lowest;  // sizes x kPrefixLanes: minima outside the set
    MatrixView<const float> inside;  // sizes x depth: the members
  };

  // Sums all prefixes of all rows of `block`, panel by panel.
  void sum(const SelectionBlock& block);
  // Do the same in parts, so that the rows of several blocks can pass the panels of their space
  // together: first prepare the input of sum_top_prefixes(), if there are products, then finish.
  void gather(const SelectionBlock& block, std::vector<PrefixSums>& prefixes);
  void finish();
  const SelectionBlock& block() const { return *block_; }

  // Returns <s_N, x_j> / |x_j| by size and column: kind scaled, if distances are wanted.
  MatrixView<const float> products(Index row) const;
  // Return |s_N|^2 of the unscaled vectors: at each size, and for N = 1..critical.
  double set_square(Index row, int size) const;
  std::span<const float> critical_squares(Index row) const;
  // Returns q for kind unit, if separability is wanted.
  Separations separations(Index row) const;

  // Recomputes the prefix sums of kind unit of one row at each of its sizes, by column, for a
  // closer look at a row. The next call overwrites them.
  MatrixView<const float> sums_again(Index row);

 private:
  // The input of separability.
  struct Output {
    AlignedVector<float> lowest;  // rows x sizes x lanes
    AlignedVector<float> inside;  // rows x sizes x depth
  };

  void reserve();
  void square_critical();
  // Computes the sums of a kind at every size by projection: `to` is rows x sizes x columns.
  void project(PrefixKind kind, Index first, Index count, float* to);
  void project_separations();
  const Gram& gram() const { return *block_->space().gram; }
  PrefixSums prefix_of(Index row) const;
  PrefixSum sum_of(Index row, PrefixKind kind);

  const SelectionBlock* block_ = nullptr;
  Index sizes_ = 0;
  Output output_;                         // kind unit
  AlignedVector<float> before_;           // rows x depth, kind scaled
  AlignedVector<float> critical_square_;  // rows x depth
  AlignedVector<float> stored_;           // rows x sizes x columns
  AlignedVector<float> again_;
  AlignedVector<float> set_vectors_;  // rows x sizes x dimension
  std::vector<PrefixSums> prefixes_;
};

}  // namespace headgauge
