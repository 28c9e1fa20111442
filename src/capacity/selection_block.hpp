// What the distance and separability of a block of rows have in common: the members of the top
// sets, weights laid out beside the panels of the Gram matrix, and the sums that walk over N.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capacity/gram.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"
#include "kernels/walk.hpp"

namespace headgauge {

// What is wanted of the walks of a scan.
struct SelectionPlan {
  std::vector<int> sizes;  // N of top_n, ascending and distinct
  int critical = 0;        // distances for every N up to this; 0: not wanted
  bool distance = true;
  bool separability = true;
  bool unit_sphere = true;  // separability on x / |x|
  int depth() const { return std::max(critical, sizes.empty() ? 0 : sizes.back()); }
};

// The vectors that a head's rows are measured against.
struct SelectionSpace {
  const Gram* gram = nullptr;
  Vectors x;                        // what gram was built from
  const Gram* null = nullptr;       // random points in place of x; only with separability
  std::span<const double> closest;  // see closest_pairs(); only with separability
};

// Sums that walk over N with one set of weights w: <s_N, u_j> for unit vectors u_j.
enum class WalkKind {
  scaled,  // w = a |x|: the vectors as they are
  unit,    // w = a: vectors on the unit sphere (w = a |x| if separability is to be as it is)
  null,    // w = a: random points
};

class SelectionBlock {
 public:
  // One row; views into the block.
  struct Line {
    Index n = 0;
    Index first_panel = 0;  // the panels that its keys lie in
    Index panels = 0;
    int sizes = 0;                          // sizes N < n, a prefix of SelectionPlan::sizes
    int critical = 0;                       // N < n walked for critical N
    std::span<const float> attention;       // a_j by column, 0 where there is no key
    std::span<const float> scaled;          // a_j |x_j|, 1 where there is no key
    std::span<const std::int32_t> rank;     // by column, see kNoKey
    std::span<const float> norm;            // |x_j| by column
    std::span<const std::uint32_t> member;  // position of each member, by rank
    std::span<const std::uint32_t> member_row;
    std::span<const float> member_attention;
    std::span<const float> member_scaled;
    double mass = 0;           // sum a
    double scaled_mass = 0;    // sum |a| |x|
    double scaled_square = 0;  // sum (a |x|)^2
    double largest_norm = 0;   // among the row's keys
  };
  // What a walk found for one row.
  struct Sums {
    std::span<const double> set_square;  // |s_N|^2, N = 1 first
    MatrixView<const float> stored;      // sizes x columns; empty where not stored
    MatrixView<const float> lowest;      // sizes x kWalkLanes: minima of q outside the set
    MatrixView<const float> inside;      // sizes x depth: q of the members
  };

  // Lays out the rows of `block`; the space must outlive their use.
  void begin(const RowBlock& block, const SelectionSpace& space, const SelectionPlan& plan);
  // Walks all rows through all panels: `stored` of scaled, q of unit and null as planned.
  void walk();

  Index rows() const { return static_cast<Index>(lines_.size()); }
  const Line& line(Index row) const { return lines_[static_cast<std::size_t>(row)]; }
  Sums sums(Index row, WalkKind kind) const;
  // The walked sums of one row at each of its sizes, by column: for a second look at a row.
  // Overwritten by the next call.
  MatrixView<const float> sums_again(Index row, WalkKind kind);

  // What the kernels take.
  WalkRow walk_row(Index row, Index panel, int depth) const;
  const float* member_weight(Index row, WalkKind kind) const;
  const float* column_weight(Index row, WalkKind kind) const;

 private:
  struct Walked {
    AlignedVector<float> before;     // rows x depth
    AlignedVector<float> lowest;     // rows x sizes x lanes
    AlignedVector<float> inside;     // rows x sizes x depth
    std::vector<double> set_square;  // rows x depth
  };
  void lay_out(const Row& row, Index r);
  void sort_events(Index r);
  WalkSum sum_of(Index row, WalkKind kind, Index panel);
  bool walks(WalkKind kind) const;
  // Whether separability uses the scaled weights, so that both walks are one.
  bool one_walk() const { return plan_->separability && !plan_->unit_sphere; }
  Walked& walked(WalkKind kind) { return walked_[static_cast<std::size_t>(kind)]; }
  const Walked& walked(WalkKind kind) const { return walked_[static_cast<std::size_t>(kind)]; }
  void square_sets(WalkKind kind);

  const SelectionSpace* space_ = nullptr;
  const SelectionPlan* plan_ = nullptr;
  Index stride_ = 0;  // columns of a row
  Index depth_ = 0;
  std::vector<Line> lines_;
  AlignedVector<float> attention_, scaled_;
  AlignedVector<float> unit_weight_;  // attention without vectors of length 0, where there are any
  AlignedVector<std::int32_t> rank_;
  std::vector<std::uint32_t> member_, member_row_;
  AlignedVector<float> member_attention_, member_scaled_, member_unit_;
  std::vector<WalkEvent> events_;  // rows x depth, by panel, then rank
  std::vector<int> first_event_;   // rows x (panels + 1)
  Walked walked_[3];
  AlignedVector<float> stored_;  // rows x sizes x columns
  AlignedVector<float> again_;
  std::vector<PrefixWalk> prefix_;
};

}  // namespace headgauge
