// The distance of weighted keys from the sum of the selected ones, and its bounds
// (docs/mathematics.md 2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/parallel.hpp"
#include "measures/gram.hpp"

namespace headgauge {

// What the bounds on dtilde are made of, for one row and one N.
struct DistanceFacts {
  Index n = 0;              // keys
  Index size = 0;           // N
  double selected = 0;      // abar, the sum of the selected weights
  double rest = 0;          // sum of the others
  double set_norm = 0;      // |s|
  double largest_norm = 0;  // max |x_j| over I_N
  double scaled_rest = 0;   // sum over O of |a_i| |x_i|
  double cross = 0;         // d_1
  bool is_signed = false;
};

// min(A3, A4): holds for every row.
double distance_bound(const DistanceFacts& facts);
// T1.1 as printed.
double distance_bound_paper(const DistanceFacts& facts);

// Finds d_1 = max over i outside, j in I_N of ||x_i - x_j|| without looking at all pairs: for every
// vector the distance to the farthest key of each panel is known beforehand, and only panels that
// promise more than was found so far are searched.
class CrossDistance {
 public:
  CrossDistance() = default;
  CrossDistance(const Gram& gram, ThreadPool& pool);

  // The row that a thread is at.
  struct Scratch {
    std::vector<std::uint32_t> member;  // Gram rows, by rank
    std::vector<float> promise;         // by rank: squared distance to the farthest key there is
    std::vector<std::uint32_t> seen;    // per Gram row: the last search that met it
    std::uint32_t search = 0;
    Index first_panel = 0;
  };
  // A row with these members, whose keys lie in `panels` panels from `first_panel` on.
  void begin_row(std::span<const std::uint32_t> members, Index first_panel, Index panels,
                 Scratch& scratch) const;
  // d_1 of the first `size` members; `rank` by column of the row's panels.
  double largest(int size, std::span<const std::int32_t> rank, Scratch& scratch) const;

  static std::size_t bytes(Index rows, Index columns);

 private:
  const Gram* gram_ = nullptr;
  Matrix<float> farthest_;     // rows x panels: max over the panel of |x_j|^2 - 2 <x_i, x_j>
  Matrix<float> prefix_;       // the same over all panels up to this one
  std::vector<float> square_;  // |x_i|^2
};

}  // namespace headgauge
