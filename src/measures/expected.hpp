// The expected distance of a uniformly random set of N keys (docs/mathematics.md 2, T1.2).
#pragma once

#include <span>

#include "headgauge/base.hpp"
#include "kernels/top_prefix_sums.hpp"

namespace headgauge {

// The sums over a row that T1.2 needs: |Y|^2 and the sum of |y_i|^2.
struct ContextFacts {
  Index n = 0;
  double total_square = 0;
  double scaled_square = 0;
};

// Computes E_main ("uniform"), its upper bound and E_ctx ("context") for sets of `size`, as sums
// over the columns that sum_expected() takes.
ExpectedSums expected_distances(std::span<const float> scaled, std::span<const float> projection,
                                std::span<const float> norm, const ContextFacts& facts, Index size);

}  // namespace headgauge
