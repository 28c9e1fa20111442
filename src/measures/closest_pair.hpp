// delta^2 of Assumption 2 (docs/mathematics.md 3) for rows whose mask hides keys: the smallest
// squared distance between two of the kept keys. A table by position cannot hold it.
#pragma once

#include <span>
#include <vector>

#include "headgauge/measure.hpp"
#include "measures/gram.hpp"

namespace headgauge {

// Computes the squared distance from every position to its nearest other position, on the unit
// sphere or between the unscaled vectors.
std::vector<double> nearest_positions(const Gram& gram, bool unit_sphere, ThreadPool& pool);

class ClosestPair {
 public:
  // Returns the exact distance; infinite if the row has fewer than two keys. `nearest` comes from
  // nearest_positions(): a key is skipped if its nearest position is no closer than the best pair
  // so far.
  double find(const Gram& gram, std::span<const double> nearest, const Row& row, bool unit_sphere);

 private:
  std::vector<std::uint32_t> keys_;
};

}  // namespace headgauge
