// The distance of weighted keys from the sum of the selected ones, and bounds on it
// (docs/mathematics.md 2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/parallel.hpp"
#include "measures/gram.hpp"

namespace headgauge {

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

}  // namespace headgauge
