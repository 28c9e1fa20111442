// The limit of an infinite attention parameter: attention to the one token with the largest score
// (docs/mathematics.md T5.3).
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "headgauge/parallel.hpp"

namespace headgauge {

struct HardmaxErrors {
  std::vector<double> error, standard_error;  // per entry of the grid
};

// Computes the mean of || y / sqrt(2 log n) - u || over 32 random directions u and the replicates,
// where y is the token with the largest <u, y> among n standard normal tokens of dimension d.
// Returns false if stopped.
bool hardmax_errors(Index dimension, const std::vector<int>& grid, int replicates,
                    std::uint64_t seed, ThreadPool& pool, const std::stop_token& stop,
                    HardmaxErrors& errors);

// Returns the expectation: E sqrt(chi^2_{d-1} + (M_n - sqrt(2 log n))^2) / sqrt(2 log n), with M_n
// the largest of n normals.
double hardmax_law(Index dimension, Index tokens);

}  // namespace headgauge
