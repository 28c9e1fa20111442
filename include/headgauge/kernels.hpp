// What the kernels run on, and what they report of a row.
#pragma once

#include <string>

#include "headgauge/base.hpp"

namespace headgauge {

// The instruction set in use: "avx512", "avx2" or "baseline"; the best of the CPU, or what the
// variable HEADGAUGE_SIMD says. Throws UsageError where that is none, or none that this CPU has.
std::string simd_level();

// The sums over a row of weights that the measures of the weights group are made of, in float64.
struct WeightSums {
  double mass = 0;      // sum a
  double abs_mass = 0;  // sum |a|
  double entropy = 0;   // of p = |a| / abs_mass, nats; undefined (NaN) if abs_mass is 0
  double square = 0;    // sum a^2
  double cube = 0;      // sum a^3
  double max = 0;       // max_j a_j
  double min = 0;       // min_j a_j
  // The same sums over the weights below the largest (entries that equal it left out), kept
  // apart because 1 - max loses the digits of a nearly one-hot row.
  double rest_mass = 0;
  double rest_square = 0;
  double rest_cube = 0;
  Index max_count = 0;  // entries that equal the largest
  double max_logit = 0;
  double min_logit = 0;
  double log_sum_exp = 0;  // of the logits
};

}  // namespace headgauge
