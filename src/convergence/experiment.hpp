// One cell of a synthetic experiment: how far the moments of attention over n fresh tokens are from
// those of the population, replicate by replicate.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "convergence/attention.hpp"
#include "convergence/moments.hpp"
#include "convergence/reference.hpp"
#include "convergence/token_law.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

// What all cells have in common.
struct Simulated {
  TokenLaw law;
  Eigen::MatrixXd map;                     // A at scale 1
  Eigen::MatrixXd values;                  // V; empty: the identity
  const Normalizer* normalizer = nullptr;  // not softmax: row by row
  CovarianceNorm norm = CovarianceNorm::frobenius;
  std::uint64_t seed = 0;
};

struct CellErrors {
  std::vector<double> mean, covariance;  // of each replicate, in absolute terms
  bool operator==(const CellErrors&) const = default;
};

// Draws the tokens of each replicate from (seed, `key`, replicate); each replicate runs on one
// thread. `done` hears of each that is finished, one at a time. False if stopped.
bool run_cell(const Simulated& experiment, double factor, const Reference& reference, Index tokens,
              std::uint32_t key, int replicates, ThreadPool& pool, const std::stop_token& stop,
              const std::function<void()>& done, CellErrors& errors);

// The moments of one draw of `tokens` tokens, as the paper's code has them, with the error of half
// as many as their error. Nothing useful if stopped.
Reference sampled_reference(const Simulated& experiment, double factor, Index tokens,
                            std::uint32_t key, ThreadPool& pool, const std::stop_token& stop);

// Bytes that one thread needs for n tokens, under softmax where there is no normalizer.
std::size_t cell_bytes(Index dimension, const Normalizer* normalizer, Index tokens);

}  // namespace headgauge
