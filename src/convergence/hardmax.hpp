// The limit of an infinite attention parameter: the one token with the largest score
// (docs/mathematics.md T5.3).
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "headgauge/parallel.hpp"

namespace headgauge {

struct HardmaxErrors {
  std::vector<double> error, standard_error;  // by entry of the grid
};

// For n standard normal tokens of dimension d: the mean over 32 random directions u and over the
// replicates of || y / sqrt(2 log n) - u ||, y the token with the largest <u, y>. False if stopped.
bool hardmax_errors(Index dimension, const std::vector<int>& grid, int replicates,
                    std::uint64_t seed, ThreadPool& pool, const std::stop_token& stop,
                    HardmaxErrors& errors);

// Its expectation: E sqrt(chi^2_{d-1} + (M_n - sqrt(2 log n))^2) / sqrt(2 log n), M_n the largest
// of n normals.
double hardmax_law(Index dimension, Index tokens);

}  // namespace headgauge
