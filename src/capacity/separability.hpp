// Geometric separability of the top-N set of a row (math 3, 7a): how many of its members lie closer
// to their sum than every key outside, and the bounds on that number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capacity/selection_block.hpp"
#include "headgauge/normalize.hpp"

namespace headgauge {

struct Separation {
  int distinguishable = 0;  // N_s: members with X_i < r, strictly
  double radius = 0;        // r
};

// Decides X_i < r for the members of a row's sets. Comparisons too close for float32 are made again
// in float64, from the logits on.
class Separator {
 public:
  // Starts on a row of `block`; `row` and `normalizer` say where its weights come from.
  void begin(SelectionBlock& block, Index line, const Row& row, const Normalizer& normalizer,
             const SelectionSpace& space, const SelectionPlan& plan);
  // Size number `size` of the plan, ascending from call to call; `flags` gets 1 for every
  // distinguishable member, by rank. kind is unit or null.
  Separation separate(WalkKind kind, int size, std::span<std::uint8_t> flags);

 private:
  Separation separate_exactly(WalkKind kind, int size, double lowest, double slack,
                              std::span<const float> inside, std::span<std::uint8_t> flags);
  // Weight of column `column` in float64, as separability weighs it.
  double weight(WalkKind kind, Index column) const;
  // Unit vector of a column in float64; false if it is zero.
  bool unit(WalkKind kind, Index column, std::span<double> out) const;

  SelectionBlock* block_ = nullptr;
  Index line_ = 0;
  const Row* row_ = nullptr;
  const Normalizer* normalizer_ = nullptr;
  const SelectionSpace* space_ = nullptr;
  const SelectionPlan* plan_ = nullptr;
  bool have_weights_ = false;
  std::vector<double> logits_, weights_;  // in key order
  std::vector<double> total_, vector_;
};

// The bounds of math 3 for a set with these weights, each averaged over its members.
struct SeparationBounds {
  double lower = 0;        // #{xi_i < r} / N
  double model_lower = 0;  // T2v
  double model_upper = 0;
  double lower_paper = 0;  // T2 as printed; undefined where r = 0
  double upper_paper = 0;
};
// `largest` is M, `closest2` delta^2 and `dimension` that of x. With signed weights xi is the sum
// of |a_j| M, which needs no more than the triangle inequality.
SeparationBounds separation_bounds(std::span<const float> weights, double radius, double largest,
                                   double closest2, Index dimension, bool is_signed);

}  // namespace headgauge
