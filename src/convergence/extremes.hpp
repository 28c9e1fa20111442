// What the simulation measures beside the cells of its sweep.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "convergence/experiment.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

// The limit of an infinite attention parameter: attention to the one token with the largest score
// (docs/mathematics.md T5.3).

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

// The distance of attention over n tokens from its limit at the worst query of a ball
// (docs/mathematics.md T5.1).

struct UniformErrors {
  // [point][radius]: mean over the replicates of the largest ||Gamma_n(x) - Gamma(x)|| on the net,
  // and its standard error.
  std::vector<std::vector<double>> error, standard_error;
  // [radius]: square root of the largest limit of n E||Gamma_n(x) - Gamma(x)||^2 on the net.
  std::vector<double> constant;
};

// The ball of radius R contains all x with ||Sigma^{-1/2} x|| <= R. Its net has radius R and every
// smaller radius in `radii`, in the directions that A stretches most and in random ones. The error
// therefore is a lower estimate of the supremum and never decreases with R. `radii` must be
// ascending. Returns false if stopped.
bool uniform_errors(const Simulated& experiment, double factor, const std::vector<int>& grid,
                    const std::vector<double>& radii, int replicates, ThreadPool& pool,
                    const std::stop_token& stop, UniformErrors& errors);

}  // namespace headgauge
