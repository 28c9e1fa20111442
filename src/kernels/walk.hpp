// The walk over N: sums over the N largest weights of a row for every N in turn, against all keys
// of the row. With the unit Gram matrix c_ij = <x_i, x_j> / (|x_i| |x_j|) cut into panels of 48
// columns (keys), <s_N, x_j> / |x_j| = sum over i in I_N of w_i c_ij gains one row of a panel with
// every N, and ||w_j x_j - s_N||^2 = w_j (w_j - 2 <s_N, x_j>/|x_j|) + |s_N|^2 in units where w_j is
// the length of the weighted vector (math 2, 3, 7a).
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

inline constexpr Index kWalkColumns = 48;  // PackedMatrix::kPanel
inline constexpr Index kWalkLanes = 16;    // room for the lanes of one vector of any level

// Columns carry the rank of their key: 0 for the largest weight and so on; kUnranked for keys that
// are no member at all, kNoKey for columns that are no key of the row.
inline constexpr std::int32_t kUnranked = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int32_t kNoKey = -1;

// A member whose own column lies in a panel.
struct WalkEvent {
  std::int32_t rank;
  std::int32_t column;
};

// The members of one row and the panel's columns as the row sees them.
struct WalkRow {
  const std::uint32_t* member_rows = nullptr;  // row of the Gram matrix, by rank
  std::span<const WalkEvent> events;           // the members in this panel, by rank
  const std::int32_t* rank = nullptr;          // 48 columns
};

// One weighted sum that walks along. Absent parts are null.
struct WalkSum {
  const float* coefficient = nullptr;  // w_i of the members, by rank
  // Out, by rank k: the sum over the members before k at k's own column.
  float* before = nullptr;
  // Out: the sum at each capture, 48 columns each, `stored_stride` apart.
  float* stored = nullptr;
  Index stored_stride = 0;
  // With the weights w_j of the columns: q_j = w_j (w_j - 2 sum_j). `lowest` keeps the running
  // minimum over the columns outside the set in kWalkLanes lanes a capture; `inside` gets q of the
  // members, by rank, `inside_stride` apart.
  const float* weight = nullptr;
  float* lowest = nullptr;
  float* inside = nullptr;
  Index inside_stride = 0;
};

struct PrefixWalk {
  WalkRow row;
  std::span<const int> captures;  // sizes N, ascending
  WalkSum first;
  WalkSum second;  // walks along if it has coefficients
};

// Walks every row of `rows` over the panel ([rows of the Gram matrix] x 48).
void walk_prefixes(const float* panel, std::span<const PrefixWalk> rows);

// For every N = 1..steps the sums over the columns of
//   distance: ||y_j - s_N|| for j outside I_N,     y_j = w_j u_j, u_j the unit vector
//   context:  ||y_j + k_N |x_j| u_j - Y||,         k_N = N * spread
// each in kWalkLanes lanes per N, added to what is there.
struct DistanceWalk {
  WalkRow row;
  int steps = 0;
  const float* coefficient = nullptr;  // w_i of the members, by rank
  const float* weight = nullptr;       // w_j of the columns; 1 where there is no key
  const float* projection = nullptr;   // <u_j, Y>; +inf where there is no key
  const float* norm = nullptr;         // |x_j|
  const float* set_square = nullptr;   // |s_N|^2, N = 1 first
  float total_square = 0;              // |Y|^2
  float spread = 0;                    // 1 / (n - 1)
  float* distance = nullptr;           // steps x kWalkLanes
  float* context = nullptr;
};

void walk_distances(const float* panel, std::span<const DistanceWalk> rows);

// sum over the columns outside the first `size` ranks of sqrt(w_j (w_j - 2 p_j) + set_square).
double sum_distances(std::span<const float> weight, std::span<const std::int32_t> rank,
                     std::span<const float> product, int size, float set_square);

// Sums of T1.2 over the columns, with y = w_j and z = <u_j, Y>: (math 2)
//   main:    sqrt(y1 (y1 - main_linear z) + main_constant),  y1 = main_scale y
//   upper:   sqrt(max of that radicand and upper_square y^2 + upper_linear y z + upper_constant)
//   context: sqrt(t (t - 2 z) + total_square),  t = y + spread |x_j|
struct ExpectedCoefficients {
  float main_scale = 0, main_linear = 0, main_constant = 0;
  float upper_square = 0, upper_linear = 0, upper_constant = 0;
  float spread = 0, total_square = 0;
};
struct ExpectedSums {
  double main = 0;
  double upper = 0;
  double context = 0;
};
// Columns that are no key have weight 1 and projection +inf.
ExpectedSums sum_expected(std::span<const float> weight, std::span<const float> projection,
                          std::span<const float> norm, const ExpectedCoefficients& coefficients);

// max over the columns of ranks >= size of norm_j (norm_j - 2 scale c_j): the farthest of 48 keys
// from a vector of length `scale`, less scale^2. -inf if there is none.
float farthest_outside(const float* gram, const float* norm, const std::int32_t* rank, int size,
                       float scale);

}  // namespace headgauge
