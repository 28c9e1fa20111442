// What the distance and separability of a block of rows have in common: the members of the top
// sets, weights laid out beside the panels of the Gram matrix, and the prefix sums over N.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"
#include "kernels/top_prefixes.hpp"
#include "measures/gram.hpp"

namespace headgauge {

// What a scan wants of the prefix sums.
struct SelectionPlan {
  std::vector<int> sizes;  // N of top_n, ascending and distinct
  int critical = 0;        // distances for every N up to this; 0: not wanted
  bool distance = true;
  bool separability = true;
  bool unit_sphere = true;  // separability on x / |x|
  int draws = 0;            // random sets a row to check the expected distance with
  std::uint64_t seed = 0;
  int depth() const { return std::max(critical, sizes.empty() ? 0 : sizes.back()); }
};

// The vectors that a head's rows are measured against.
struct SelectionSpace {
  const Gram* gram = nullptr;
  Vectors x;                   // what gram was built from
  const Gram* null = nullptr;  // random points in place of x; only with separability
  // See closest_pairs(), or nearest_positions() for a head with a mask; only with separability.
  std::span<const double> closest;
};

// Prefix sums over N with one set of weights w: <s_N, u_j> for unit vectors u_j.
enum class PrefixKind {
  scaled,  // w = a |x|: the vectors as they are
  unit,    // w = a: vectors on the unit sphere
  null,    // w = a: random points
};

class SelectionBlock {
 public:
  // The weights of the members of a set, added up.
  struct SetSums {
    double mass = 0;    // sum |w|
    double square = 0;  // sum w^2
  };
  // One row; views into the block. Columns are those of the panels that its keys lie in.
  struct Line {
    Index n = 0;
    Index first_panel = 0;
    Index panels = 0;
    Index lead = 0;                             // columns before the first key
    Index span = 0;                             // columns from the first key to the last
    std::span<const std::uint32_t> positions;   // of the keys, where some columns are none
    int sizes = 0;                              // sizes N < n, a prefix of SelectionPlan::sizes
    int critical = 0;                           // N < n summed for critical N
    std::span<const float> attention;           // a_j, 0 where there is no key
    std::span<const float> scaled;              // a_j |x_j|, 1 where there is no key
    std::span<const std::int32_t> rank;         // see kNoKey
    std::span<const float> norm;                // |x_j|
    std::span<const std::uint32_t> member;      // positions, by rank
    std::span<const std::uint32_t> member_row;  // rows of the Gram matrix, by rank
    double mass = 0;                            // sum a
    double scaled_mass = 0;                     // sum |a| |x|
    double scaled_square = 0;                   // sum (a |x|)^2
    // The column of key number `i` of the n.
    Index column(Index i) const {
      if (positions.empty()) return lead + i;
      return static_cast<Index>(positions[static_cast<std::size_t>(i)]) -
             first_panel * kPrefixColumns;
    }
  };
  // q of every set of a row (see PrefixSum).
  struct Separations {
    MatrixView<const float> lowest;  // sizes x kPrefixLanes: minima outside the set
    MatrixView<const float> inside;  // sizes x depth: the members
  };

  // Lays out the rows of `block`; the space must outlive their use.
  void begin(const RowBlock& block, const SelectionSpace& space, const SelectionPlan& plan);
  // Sums all prefixes of all rows, panel by panel.
  void sum_prefixes();

  Index rows() const { return static_cast<Index>(lines_.size()); }
  const Line& line(Index row) const { return lines_[static_cast<std::size_t>(row)]; }
  // By rank, and by column. kind unit means scaled where separability is measured as it is.
  std::span<const float> member_weights(Index row, PrefixKind kind) const;
  const float* column_weights(Index row, PrefixKind kind) const;
  SetSums set_sums(Index row, PrefixKind kind, int size) const;

  // <s_N, x_j> / |x_j| by size and column: kind scaled, if distances are wanted.
  MatrixView<const float> products(Index row) const;
  // |s_N|^2 of the vectors as they are: at each size, and for N = 1..critical.
  double set_square(Index row, int size) const;
  std::span<const float> critical_squares(Index row) const;
  // Kinds unit and null, if separability is wanted.
  Separations separations(Index row, PrefixKind kind) const;

  // The prefix sums of one row at each of its sizes, by column: for a second look at a row.
  // Overwritten by the next call.
  MatrixView<const float> sums_again(Index row, PrefixKind kind);
  PrefixRow prefix_row(Index row) const;

 private:
  struct PrefixOutput {
    AlignedVector<float> lowest;  // rows x sizes x lanes
    AlignedVector<float> inside;  // rows x sizes x depth
  };
  void lay_out(const Row& row, Index r);
  // The columns of a row between whose keys there are others.
  void lay_out_gaps(const Row& row, Line& line, std::span<float> attention, std::span<float> scaled,
                    std::span<std::int32_t> rank);
  void sort_events(Index r);
  void add_up_members(Index r);
  void square_critical();
  // The sums of a kind at every size, by projection: `to` is rows x sizes x columns.
  void project_sums(PrefixKind kind, Index first, Index count, float* to, Index to_stride);
  void project_separations(PrefixKind kind);
  // Kind unit stands for the vectors as they are where that is asked for.
  PrefixKind resolve(PrefixKind kind) const;
  const PrefixOutput& output(PrefixKind kind) const {
    return output_[kind == PrefixKind::null ? 1 : 0];
  }
  PrefixSum sum_of(Index row, PrefixKind kind);
  std::span<const int> captures(Index row) const;

  const SelectionSpace* space_ = nullptr;
  const SelectionPlan* plan_ = nullptr;
  Index stride_ = 0;  // columns of a row
  Index depth_ = 0;   // room for the members of a row: whole vectors
  Index sizes_ = 0;
  std::vector<Line> lines_;
  AlignedVector<float> attention_, scaled_;
  AlignedVector<float> unit_weight_;  // attention without vectors of length 0, where there are any
  AlignedVector<std::int32_t> rank_;
  std::vector<std::uint32_t> member_, member_row_;
  std::array<AlignedVector<float>, 3> member_weight_;  // by kind: rows x depth
  std::array<std::vector<SetSums>, 3> set_sums_;       // by kind: rows x sizes
  std::vector<PrefixEvent> events_;                    // rows x depth, by panel, then rank
  std::vector<int> first_event_;                       // rows x (panels + 1)
  std::array<PrefixOutput, 2> output_;                 // unit, null
  AlignedVector<float> before_;                        // rows x depth, kind scaled
  AlignedVector<float> critical_square_;               // rows x depth
  AlignedVector<float> stored_;                        // rows x sizes x columns
  AlignedVector<float> again_;
  AlignedVector<float> set_vectors_;  // rows x sizes x dimension
  std::vector<PrefixSums> prefix_;
  std::vector<float> gathered_norm_, gathered_scaled_;  // of the keys of a row with gaps
};

}  // namespace headgauge
