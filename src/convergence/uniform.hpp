// The distance of attention over n tokens from its limit at the worst query of a ball
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
