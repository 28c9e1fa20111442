// The instruction set that the kernels use, and the sums that they compute over a row.
#pragma once

#include <string>

#include "headgauge/base.hpp"

namespace headgauge {

// Returns the instruction set in use: "avx512", "avx2" or "baseline". It is the best that the CPU
// has, or the one that HEADGAUGE_SIMD names. Throws UsageError if HEADGAUGE_SIMD names an unknown
// one or one that this CPU does not have.
std::string simd_level();

// Sums over a row of weights in float64; the measures of the group "weights" use them.
struct WeightSums {
  double mass = 0;      // sum a
  double abs_mass = 0;  // sum |a|
  double entropy = 0;   // entropy of p = |a| / abs_mass in nats; undefined (NaN) if abs_mass is 0
  double square = 0;    // sum a^2
  double cube = 0;      // sum a^3
  double max = 0;       // max_j a_j
  double min = 0;       // min_j a_j
  // The same sums over the weights below the largest; entries that equal it are left out. They are
  // kept because 1 - max loses precision for a nearly one-hot row.
  double rest_mass = 0;
  double rest_square = 0;
  double rest_cube = 0;
  Index max_count = 0;  // number of entries that equal the largest
  double max_logit = 0;
  double min_logit = 0;
  double log_sum_exp = 0;  // of the logits
};

}  // namespace headgauge
