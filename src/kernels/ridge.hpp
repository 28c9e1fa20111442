// Finds the largest eigenvalue of diag(r) - r r^T / sum r as the root of its secular equation.
#pragma once

#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// The two largest of a row of numbers >= 0; equal ones count twice, missing ones are 0.
struct TwoLargest {
  float first = 0;
  float second = 0;
};
TwoLargest two_largest(std::span<const float> values);

// Returns the root of sum r_i/(r_i - lam) = 0 in (second, first), to 1e-12 relative. `r` >= 0, and
// `largest` comes from two_largest(). Returns `first` if the two are equal, 0 if `second` is 0.
double ridge_root(std::span<const float> r, TwoLargest largest);

}  // namespace headgauge
