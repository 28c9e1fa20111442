// delta^2 of Assumption 2 (docs/mathematics.md 3) for rows whose mask hides keys: the smallest
// squared distance between two of the keys that are left, which no table by position can hold.
#pragma once

#include <span>
#include <vector>

#include "headgauge/measure.hpp"
#include "measures/gram.hpp"

namespace headgauge {

// The squared distance from every position to the nearest other one, on the unit sphere or between
// the vectors as they are.
std::vector<double> nearest_positions(const Gram& gram, bool unit_sphere, ThreadPool& pool);

class ClosestPair {
 public:
  // Exact; infinite where the row has fewer than two keys. `nearest` is of nearest_positions(): a
  // key that no position is nearer to than what was found already needs no look.
  double find(const Gram& gram, std::span<const double> nearest, const Row& row, bool unit_sphere);

 private:
  std::vector<std::uint32_t> keys_;
};

}  // namespace headgauge
