// How far attention over n tokens is from its limit at the worst query of a ball
// (docs/mathematics.md T5.1).
#pragma once

#include <stop_token>
#include <vector>

#include "convergence/experiment.hpp"

namespace headgauge {

struct UniformErrors {
  // [point][radius]: mean over the replicates of the largest ||Gamma_n(x) - Gamma(x)|| on the net,
  // and its standard error.
  std::vector<std::vector<double>> error, standard_error;
  // [radius]: sqrt of the largest limit of n E||Gamma_n(x) - Gamma(x)||^2 on the net.
  std::vector<double> constant;
};

// The ball of radius R holds the x with ||Sigma^{-1/2} x|| <= R. Its net: R and every smaller
// radius asked for, in the directions that A stretches most and in random ones; so the error is a
// lower estimate of the supremum, and never falls with R. `radii` ascend. False if stopped.
bool uniform_errors(const Simulated& experiment, double factor, const std::vector<int>& grid,
                    const std::vector<double>& radii, int replicates, ThreadPool& pool,
                    const std::stop_token& stop, UniformErrors& errors);

}  // namespace headgauge
