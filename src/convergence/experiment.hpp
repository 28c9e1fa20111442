// One cell of a synthetic experiment: the distance of the moments of attention over n fresh tokens
// from those of the population, for each replicate.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "convergence/attention.hpp"
#include "convergence/reference.hpp"
#include "convergence/token_law.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

// Settings that all cells share.
struct Simulated {
  TokenLaw law;
  Eigen::MatrixXd map;                     // A at scale 1
  Eigen::MatrixXd values;                  // V; empty: the identity
  const Normalizer* normalizer = nullptr;  // null: softmax; others are computed row by row
  CovarianceNorm norm = CovarianceNorm::frobenius;
  std::uint64_t seed = 0;
};

struct CellErrors {
  std::vector<double> mean, covariance;  // absolute, per replicate
  bool operator==(const CellErrors&) const = default;
};

// Draws the tokens of each replicate from (seed, `key`, replicate). Each replicate runs on one
// thread. Calls `done` after each, never concurrently. Returns false if stopped.
bool run_cell(const Simulated& experiment, double factor, const Reference& reference, Index tokens,
              std::uint32_t key, int replicates, ThreadPool& pool, const std::stop_token& stop,
              const std::function<void()>& done, CellErrors& errors);

// Returns the moments of one draw of `tokens` tokens, as the paper's code does. Their error is
// estimated by that of half as many tokens. The result is invalid if stopped.
Reference sampled_reference(const Simulated& experiment, double factor, Index tokens,
                            std::uint32_t key, ThreadPool& pool, const std::stop_token& stop);

// Returns the bytes that one thread needs for n tokens; null: softmax.
std::size_t cell_bytes(Index dimension, const Normalizer* normalizer, Index tokens);

}  // namespace headgauge
