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
  // Bit k is set if the member of rank k is distinguishable. The next call overwrites it.
  std::span<const std::uint64_t> members;
  bool exact = false;  // decided in float64
};

// The bounds of docs/mathematics.md 3 on the share of distinguishable members of a set.
struct SeparationBounds {
  double lower = 0;        // #{xi_i < r} / N
  double model_lower = 0;  // T2v
  double model_upper = 0;
  double lower_paper = 0;  // T2 as printed; undefined if r = 0
  double upper_paper = 0;
};

// Decides X_i < r for the members of a row's sets. Comparisons too close for float32 are repeated
// in float64, starting from the logits.
class Separator {
 public:
  // Starts on row number `line` of the block of `sums`; its weights are those of `row` under
  // `normalizer`. If the row was permuted, `pairing` gives the key that each key's weight moved to
  // (PairedRows).
  void begin(SelectionSums& sums, Index line, const Row& row, const Normalizer& normalizer,
             std::span<const std::uint32_t> pairing = {});
  // Separates the set of size number `size` of the plan.
  Separation separate(int size);
  // Computes the bounds on the result of separate(size). M is `largest`, delta^2 `closest2`.
  SeparationBounds bounds(int size, const Separation& found, double largest, double closest2);

 private:
  // A column in float64: its weight in separability divided by the length of its vector, and the
  // vector.
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
  // Computes the weights of all keys, once per row.
  void weigh_exactly();
  // Sets total_ to s_N of the first `members` members.
  void add_up(Index members);
  // Searches the keys whose float32 q is at most 2 `slack` above `lowest`.
  Nearest find_nearest(int size, double lowest, double slack);
  // Computes r from the vector of the nearest key.
  double radius(const Point& nearest) const;
  // Sets the bits of the members whose q is below that of the nearest key; returns their number.
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
