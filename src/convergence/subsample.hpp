// Errors of attention over a subsample of the tokens (docs/mathematics.md D5.2): the distances of
// the mean and the covariance of a head's outputs from those over all tokens.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "convergence/population.hpp"
#include "convergence/spread.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

struct SubsampleOptions {
  std::vector<int> tokens;  // the grid of n
  int replicates = 500;
  std::uint64_t seed = 0;
  std::stop_token stop = {};  // after a stop request the rest is not computed
};

// Errors over the replicates at each n of the grid. Absolute errors are ||mhat - m||_2 and ||Chat -
// C||_F.
struct SubsampleErrors {
  std::vector<Spread> mean;        // per entry of the grid
  std::vector<Spread> covariance;  // per entry of the grid
  // Units of the absolute errors: sqrt(tr C) and ||C||_F of all tokens.
  double mean_unit = 0;
  double covariance_unit = 0;
  // Absolute errors that float32 rounding alone can cause.
  double mean_floor = 0;
  double covariance_floor = 0;
};

// Draws n queries and n keys with replacement from the population (the same tokens if
// Population::alike), `replicates` times for every n. The draws depend only on seed, document, grid
// index of n, and replicate, so that all heads of a model use the same draws.
SubsampleErrors subsample_errors(const HeadInput& head, const Normalizer& normalizer,
                                 const FullAttention& full, const SubsampleOptions& options,
                                 ThreadPool& pool);

// Returns the memory for a head of this length.
std::size_t subsample_bytes(Index length, Index head_dim, int threads);

}  // namespace headgauge
