// Errors of attention over a subsample of the tokens (docs/mathematics.md D5.2): how far the mean
// and the covariance of a head's outputs are from those over all of them.
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
  std::stop_token stop = {};  // once it is asked for, what is left is not computed
};

// Over the replicates at each n of the grid. Absolute errors are ||mhat - m||_2 and ||Chat - C||_F.
struct SubsampleErrors {
  std::vector<Spread> mean;        // by entry of the grid
  std::vector<Spread> covariance;  // likewise
  // What the absolute errors are divided by: sqrt(tr C) and ||C||_F of all tokens.
  double mean_unit = 0;
  double covariance_unit = 0;
  // Absolute errors that float32 could make by itself.
  double mean_floor = 0;
  double covariance_floor = 0;
};

// Draws n queries and n keys with replacement from the population (the same tokens where they are
// alike), `replicates` times for every n. The draws depend on seed, document, n's place in the grid
// and the replicate only: the heads of a model are looked at on the same ones.
SubsampleErrors subsample_errors(const HeadInput& head, const Normalizer& normalizer,
                                 const FullAttention& full, const SubsampleOptions& options,
                                 ThreadPool& pool);

// Memory for a head of this length.
std::size_t subsample_bytes(Index length, Index head_dim, int threads);

}  // namespace headgauge
