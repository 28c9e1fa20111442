// Prefix sums over N: sums over the N largest weights of a row, for N = 1, 2, ..., against all keys
// of the row. The unit Gram matrix c_ij = <x_i, x_j> / (|x_i| |x_j|) is cut into panels of 48
// columns (keys). <s_N, x_j> / |x_j| = sum over i in I_N of w_i c_ij then grows by one row of a
// panel with every N, and ||w_j x_j - s_N||^2 = w_j (w_j - 2 <s_N, x_j>/|x_j|) + |s_N|^2 in units
// where w_j is the length of the weighted vector (docs/mathematics.md 2, 3, 7a).
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "headgauge/base.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

inline constexpr Index kPrefixColumns = PackedMatrix::kPanel;
inline constexpr Index kPrefixLanes = 16;  // room for the lanes of one vector at any SIMD level

// Columns have the rank of their key: 0 for the largest weight and so on; kUnranked for keys that
// are not members, kNoKey for columns that are not keys of the row.
inline constexpr std::int32_t kUnranked = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int32_t kNoKey = -1;

// A member and its own column in its panel.
struct PrefixEvent {
  std::int32_t rank;
  std::int32_t column;
};

// A row's members, and its columns: those of the panels that its keys lie in.
struct PrefixRow {
  Index first_panel = 0;
  Index panels = 0;
  const std::uint32_t* member_rows = nullptr;  // row of the Gram matrix, by rank
  const PrefixEvent* events = nullptr;         // members by panel, then rank
  const int* first_event = nullptr;            // panels + 1 of them
  const std::int32_t* rank = nullptr;          // by column
};

// One weighted sum. Absent parts are null.
struct PrefixSum {
  const float* coefficient = nullptr;  // w_i of the members, by rank
  // Output, by rank k: the sum over the members before k at k's own column.
  float* before = nullptr;
  // Output: the sum at each capture by column, `stored_stride` apart.
  float* stored = nullptr;
  Index stored_stride = 0;
  // If the weights w_j of the columns are set, q_j = w_j (w_j - 2 sum_j). `lowest` keeps the
  // running minimum over the columns outside the set in kPrefixLanes lanes per capture; `inside`
  // gets q of the members, by rank, `inside_stride` apart.
  const float* weight = nullptr;
  float* lowest = nullptr;
  float* inside = nullptr;
  Index inside_stride = 0;
};

struct PrefixSums {
  PrefixRow row;
  std::span<const int> captures;  // sizes N, ascending
  PrefixSum first;
  PrefixSum second;  // also summed if it has coefficients; its `before` is not used
};

// Sums the prefixes of every row, panel by panel.
void sum_top_prefixes(const PackedMatrix& gram, std::span<const PrefixSums> rows);
// Computes the captures of prefix sums from sums computed elsewhere, read from first.stored.
void capture_prefixes(std::span<const PrefixSums> rows);

// Adds, for every N = 1..steps, the sums over the columns of
//   distance: ||y_j - s_N|| for j outside I_N,     y_j = w_j u_j, u_j the unit vector
//   context:  ||y_j + k_N |x_j| u_j - Y||,         k_N = N * spread
// in kPrefixLanes lanes per N to the outputs. Each root is accurate to 1e-4.
struct PrefixDistances {
  PrefixRow row;
  int steps = 0;
  const float* coefficient = nullptr;  // w_i of the members, by rank
  const float* weight = nullptr;       // w_j of the columns
  const float* projection = nullptr;   // <u_j, Y>
  const float* norm = nullptr;         // |x_j|
  const float* set_square = nullptr;   // |s_N|^2 from N = 1
  float total_square = 0;              // |Y|^2
  float spread = 0;                    // 1 / (n - 1)
  float* distance = nullptr;           // steps x kPrefixLanes
  float* context = nullptr;
};

void sum_prefix_distances(const PackedMatrix& gram, std::span<const PrefixDistances> rows);

}  // namespace headgauge
