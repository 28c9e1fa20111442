// Sums over the columns of a row that complete the prefix sums: distances of the keys outside a
// set, expected distances, and the scaled weights of a row (docs/mathematics.md 2, 7a).
#pragma once

#include <cstdint>
#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// The sums of scaled_j = weight_j norm_j.
struct ScaledSums {
  double absolute = 0;  // sum |scaled_j|
  double square = 0;    // sum scaled_j^2
};
ScaledSums scale_weights(std::span<const float> weight, std::span<const float> norm,
                         std::span<float> scaled);

// Computes the sum of sqrt(w_j (w_j - 2 p_j) + set_square) over the columns outside the first
// `size` ranks. Processes whole panels of columns.
double sum_distances(std::span<const float> weight, std::span<const std::int32_t> rank,
                     std::span<const float> product, int size, float set_square);

// Sums of T1.2 over the columns, with y = w_j and z = <u_j, Y>: (docs/mathematics.md 2)
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
// Columns that are not keys have weight 1 and projection +inf. Processes whole panels of columns.
ExpectedSums sum_expected(std::span<const float> weight, std::span<const float> projection,
                          std::span<const float> norm, const ExpectedCoefficients& coefficients);

// Returns the maximum over 48 columns of ranks >= size of norm_j (norm_j - 2 scale c_j): the
// squared distance of the farthest of these keys from a vector of length `scale`, minus scale^2.
// -inf if there is none.
float farthest_outside(const float* gram, const float* norm, const std::int32_t* rank, int size,
                       float scale);

// Returns the maximum of `best` and farthest_outside() over `panels` panels, which are
// `panel_floats` apart in the Gram matrix. Reads a panel only if its upper bound in `promise`
// exceeds the best value so far by more than rounding.
float search_farthest(const float* gram, Index panel_floats, const float* norm,
                      const std::int32_t* rank, std::span<const float> promise, int size,
                      float scale, float best);

}  // namespace headgauge
