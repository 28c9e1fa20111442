// Data that the distance and separability of a block of rows share: the members of the top sets,
// and weights aligned with the panels of the Gram matrix.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"
#include "kernels/top_prefixes.hpp"
#include "measures/gram.hpp"

namespace headgauge {

// The results that a scan needs from the prefix sums.
struct SelectionRequest {
  // Every row has sets of these sizes, or of these shares of its keys if `shares` is not empty.
  std::vector<int> sizes;      // N of top_n, ascending and distinct
  std::vector<double> shares;  // of top_share, ascending and distinct, between 0 and 1
  Index longest = 0;  // the largest number of keys in a row; 0 if unknown and there are no shares
  int critical = 0;   // distances for every N up to this; 0 if not needed
  bool distance = true;
  bool separability = true;
  bool unit_sphere = true;  // separability on x / |x|
  bool bounds = true;       // measure the bounds of distance and separability
  std::uint64_t seed = 0;
  Index count() const { return shares.empty() ? std::ssize(sizes) : std::ssize(shares); }
  int depth() const {
    if (!shares.empty()) return size_of_share(shares.back(), longest);
    return std::max(critical, sizes.empty() ? 0 : fitting(sizes.back()));
  }
  // Returns `size`, or `longest` if that is smaller, because no row has a larger set.
  int fitting(int size) const {
    return longest > 0 ? static_cast<int>(std::min<Index>(size, longest)) : size;
  }
  std::vector<int> fitting_sizes() const {
    std::vector<int> fitting_sizes;
    for (const int size : sizes) fitting_sizes.push_back(fitting(size));
    return fitting_sizes;
  }
  // Returns N for a share of n >= 2 keys: the nearest whole number from 1 to n - 1.
  static int size_of_share(double share, Index n) {
    return static_cast<int>(
        std::clamp<Index>(std::llround(share * static_cast<double>(n)), 1, n - 1));
  }
  // Returns whether set number `size` of a row of n keys counts: a share of less than one key has
  // no set.
  bool stands_for(Index size, Index n) const {
    return shares.empty() || shares[size] * static_cast<double>(n) >= 1;
  }
  // Returns whether any result needs the unscaled vectors.
  bool scaled() const { return distance || !unit_sphere; }
};

// The vectors that a head's rows are measured against.
struct SelectionSpace {
  const Gram* gram = nullptr;
  Vectors x;  // the vectors of `gram`
  // See closest_pairs(), or nearest_positions() for a head with a mask; set only with separability.
  std::span<const double> closest;
};

// The weights w of the members of a set. The prefix sums over N use the first two kinds: <s_N, u_j>
// for unit vectors u_j.
enum class PrefixKind {
  scaled,     // w = a |x|, for the unscaled vectors
  unit,       // w = a, 0 for a vector of length 0, for vectors on the unit sphere
  attention,  // w = a
};

class SelectionBlock {
 public:
  // Sums over the weights of the members of a set.
  struct SetSums {
    double mass = 0;    // sum |w|
    double square = 0;  // sum w^2
  };
  // One row, as views into the block. Columns are those of the panels that its keys lie in.
  struct Line {
    Index n = 0;
    Index first_panel = 0;
    Index panels = 0;
    Index lead = 0;                             // columns before the first key
    Index span = 0;                             // columns from the first key to the last
    std::span<const std::uint32_t> positions;   // of the keys, if some columns are not keys
    int sizes = 0;                              // sizes N < n, a prefix of those of the plan
    int critical = 0;                           // number of N < n summed for critical N
    std::span<const float> attention;           // a_j, 0 if not a key
    std::span<const float> scaled;              // a_j |x_j|, 1 if not a key; only if needed
    std::span<const std::int32_t> rank;         // see kNoKey
    std::span<const float> norm;                // |x_j|
    std::span<const std::uint32_t> member;      // positions, by rank
    std::span<const std::uint32_t> member_row;  // rows of the Gram matrix, by rank
    double mass = 0;                            // sum a
    double scaled_mass = 0;                     // sum |a| |x|
    double scaled_square = 0;                   // sum (a |x|)^2
    Index first_column() const { return first_panel * kPrefixColumns; }
    Index columns() const { return panels * kPrefixColumns; }
    // Returns the column of the row's key number `i`.
    Index column(Index i) const {
      return positions.empty() ? lead + i : positions[i] - first_column();
    }
  };

  // Lays out the rows of `block`; space and plan must outlive their use.
  void begin(const RowBlock& block, const SelectionSpace& space, const SelectionRequest& plan);

  const SelectionSpace& space() const { return *space_; }
  const SelectionRequest& plan() const { return *plan_; }
  Index rows() const { return std::ssize(lines_); }
  const Line& line(Index row) const { return lines_[row]; }
  // Returns the row stride in columns: whole vectors, with room for a row's members.
  Index stride() const { return stride_; }
  Index depth() const { return depth_; }
  // Returns the sizes of the plan that a row has sets of.
  std::span<const int> sizes_of(Index row) const {
    if (plan_->shares.empty()) return std::span(plan_->sizes).first(line(row).sizes);
    return std::span(row_sizes_).subspan(row * sizes_, line(row).sizes);
  }

  // If separability is measured on the unscaled vectors, kind unit means kind scaled.
  PrefixKind resolve(PrefixKind kind) const {
    return kind == PrefixKind::unit && !plan_->unit_sphere ? PrefixKind::scaled : kind;
  }
  // Return the weights by rank, and by column.
  std::span<const float> member_weights(Index row, PrefixKind kind) const;
  const float* column_weights(Index row, PrefixKind kind) const;
  SetSums set_sums(Index row, PrefixKind kind, int size) const;
  PrefixRow prefix_row(Index row) const;

 private:
  static constexpr int kKinds = 3;
  // rows x stride
  struct Columns {
    AlignedVector<float> attention, scaled;
    AlignedVector<float> unit;  // attention without vectors of length 0, if there are any
    AlignedVector<std::int32_t> rank;
  };
  // rows x depth
  struct Members {
    std::vector<std::uint32_t> position, row;
    std::array<AlignedVector<float>, kKinds> weight;
    std::vector<PrefixEvent> events;  // by panel, then rank
  };
  // The keys of a row with gaps.
  struct Gathered {
    std::vector<float> norm, scaled;
  };

  void reserve(Index rows);
  void lay_out(const Row& row, Index r);
  void lay_out_keys(const Row& row, Line& line);
  void lay_out_gaps(const Row& row, Line& line);
  int count_sizes(Index r, Index n);
  void lay_out_members(const Row& row, Index r, int count);
  void sort_events(Index r);
  void add_up_members(Index r);

  // Returns the columns of `line` in `columns`, for writing.
  template <class T>
  std::span<T> of(const Line& line, AlignedVector<T>& columns) {
    return {columns.data() + (line.attention.data() - columns_.attention.data()),
            line.attention.size()};
  }

  const SelectionSpace* space_ = nullptr;
  const SelectionRequest* plan_ = nullptr;
  Index stride_ = 0;
  Index depth_ = 0;
  Index sizes_ = 0;
  std::vector<Line> lines_;
  Columns columns_;
  Members members_;
  std::array<std::vector<SetSums>, kKinds> set_sums_;  // rows x sizes
  std::vector<int> first_event_;                       // rows x (panels + 1)
  std::vector<int> row_sizes_;                         // rows x sizes; set for shares
  Gathered gathered_;
};

}  // namespace headgauge
