// What the kernels report of a row.
#pragma once

#include "headgauge/base.hpp"

namespace headgauge {

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
