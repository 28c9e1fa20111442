// Computations for every member of a top set, given its prefix sums (docs/mathematics.md 3, 7a).
#pragma once

#include <cstdint>
#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// The comparison of the members' q_i with the lowest q outside the set.
struct MemberComparison {
  int below = 0;
  bool close = false;  // true if some |q_i - lowest| is within its slack
  double sum = 0;      // sum of q_i
};
// The slack of member i is max(relative max(|q_i|, |lowest|), products |w_i|). Bit i of `bits`,
// which has room for all of `inside`, is set if q_i < lowest.
MemberComparison compare_members(std::span<const float> inside, std::span<const float> weight,
                                 float lowest, float relative, float products,
                                 std::span<std::uint64_t> bits);

// Sums over the members of the bounds of docs/mathematics.md 3, from their weights.
struct MemberBounds {
  double xi = 0;           // sum xi_i
  double lower = 0;        // #{xi_i < r}
  double model_lower = 0;  // T2v
  double model_upper = 0;
  double upper_paper = 0;  // exp(-(r - xi_i)^2 / (16 M^2))
  bool close = false;      // float32 cannot tell for some xi_i whether it is below r
};
struct BoundFacts {
  double mass = 0;      // sum |a_j| over the members
  double squares = 0;   // sum a_j^2
  double radius = 0;    // r
  double largest2 = 0;  // M^2
  double nearest = 0;   // the largest inner product of two keys, M^2 - delta^2 / 2
  double shrink2 = 0;   // 1 / (1 + 2/d)
};
// Reads `weight` up to whole vectors.
MemberBounds bound_members(std::span<const float> weight, const BoundFacts& facts);

// Compute total += factor x, and <x, y>, in float64.
void add_scaled(std::span<const float> x, double factor, std::span<double> total);
double dot(std::span<const float> x, std::span<const double> y);

}  // namespace headgauge
