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

// Returns the root of sum r_i/(r_i - lam) = 0 between the two largest r, to 1e-12 relative
// (docs/mathematics.md 7a). `r` >= 0. Returns the largest if the two are equal, 0 if the second is
// 0.
double ridge_root(std::span<const float> r);

}  // namespace headgauge
