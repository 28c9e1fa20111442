// Geometric separability of the top-N set of a row (docs/mathematics.md 3, 7a): how many of its
// members lie closer to their sum than every key outside, and the bounds on that number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/normalize.hpp"
#include "kernels/top_prefix_members.hpp"
#include "measures/selection_sums.hpp"

namespace headgauge {

struct Separation {
  int distinguishable = 0;  // N_s: members with X_i < r, strictly
  double radius = 0;        // r
  // Which members those are: bit k for the member of rank k. Overwritten by the next call.
  std::span<const std::uint64_t> members;
  bool exact = false;  // decided in float64
};

// The bounds of docs/mathematics.md 3 on the share of distinguishable members of a set.
struct SeparationBounds {
  double lower = 0;        // #{xi_i < r} / N
  double model_lower = 0;  // T2v
  double model_upper = 0;
  double lower_paper = 0;  // T2 as printed; undefined where r = 0
  double upper_paper = 0;
};

// Decides X_i < r for the members of a row's sets. Comparisons too close for float32 are made again
// in float64, from the logits on.
class Separator {
 public:
  // Starts on row number `line` of the block of `sums`; its weights are those of `row` under
  // `normalizer`. A `pairing` says to which key the weight of each key of `row` has moved
  // (PairedRows).
  void begin(SelectionSums& sums, Index line, const Row& row, const Normalizer& normalizer,
             std::span<const std::uint32_t> pairing = {});
  // Separates the set of size number `size` of the plan.
  Separation separate(int size);
  // Computes the bounds on what separate(size) found. M is `largest`, delta^2 `closest2`.
  // With signed weights xi is M sum |a_j|, which needs no more than the triangle inequality.
  SeparationBounds bounds(int size, const Separation& found, double largest, double closest2,
                          bool is_signed);

 private:
  // What a column is in float64: its weight as separability has it over the length of its vector,
  // and the vector.
  struct Point {
    double factor = 0;  // w_j / |x_j|; 0 for a vector of length 0
    double weight = 0;  // w_j
    std::span<const float> x;
  };
  // The key outside a set with the lowest q.
  struct Nearest {
    Index column = -1;
    double q = 0;
  };

  Separation separate_exactly(int size);
  // The weights of all keys, once a row.
  void weigh_exactly();
  // total_ = s_N of the first `members` members.
  void add_up(Index members);
  // Searches the keys whose q in float32 is no more than `slack` twice above `lowest`.
  Nearest find_nearest(int size, double lowest, double slack);
  // r, from the vector of the nearest key.
  double radius(const Point& nearest) const;
  // Sets the bits of the members whose q lies below that of the nearest key; their number.
  int count_below(int size, double radius, double nearest, double lowest, double slack);
  MemberBounds bound_exactly(int size, const BoundFacts& facts) const;
  Point point(Index column) const;
  double exact_q(const Point& point) const;

  const SelectionBlock& block() const { return sums_->block(); }
  const SelectionBlock::Line& line() const { return block().line(line_); }
  Index members(int size) const { return block().sizes_of(line_)[size]; }

  SelectionSums* sums_ = nullptr;
  Index line_ = 0;
  const Row* row_ = nullptr;
  const Normalizer* normalizer_ = nullptr;
  std::span<const std::uint32_t> pairing_;
  bool have_weights_ = false;
  std::vector<double> logits_, packed_;  // in key order
  std::vector<double> weights_;          // by column
  std::vector<double> total_;            // s
  std::vector<std::uint64_t> bits_;
};

}  // namespace headgauge
