// Measures how much context a head needs (arXiv 2512.10656): its horizon and the rate that follows
// from it, the error of its output over a subsample of the tokens, and the number of keys that
// suffice (docs/converge.md).
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/scan.hpp"

namespace headgauge {

struct ConvergeOptions {
  // The scan of paper A's metrics, which are measured at the same context. Errors and budgets use
  // the longest of scan.lengths and the rule scan.normalizer; scan.pattern must be "none". If no
  // measures are given: weights, distance, separability and dispersion.
  ScanOptions scan;
  std::vector<int> grid;  // numbers of tokens; empty: `points` geometric ones from L/8 to 3L/4
  int points = 10;
  int replicates = 500;                                // subsamples at each number of tokens
  int draws = 32;                                      // random key sets drawn for a budget
  std::vector<double> tolerances = {0.01, 0.05, 0.1};  // 0.05 is always added
};

std::vector<Option> options_of(ConvergeOptions& options);

// A shorter context has too few tokens to draw from.
inline constexpr int kShortestContext = 64;

// Returns the default grid: `points` geometric numbers from length/8 to 3 length/4, truncated as
// numpy's astype(int) does, without duplicates.
std::vector<int> default_grid(int length, int points);

// Returns the metrics of scan() for paper A's groups and the following.
//
// Dims layer, head: horizon, horizon_paper, rate_mean, rate_covariance (with standard errors;
// `rows` = points of the fit), rate_predicted, points_under_floor_mean,
// points_under_floor_covariance, error_constant. With the additional dim tokens: error_mean,
// error_covariance and their _absolute forms. With the additional dims tolerance and sampler:
// tokens_for_error and budget_keys. By layer: cache_bytes_by_layer (cache). For the model:
// cache_bytes (cache). Definitions: docs/mathematics.md 5a.
//
// Deterministic on any number of threads. If interrupted, returns the finished layers. Throws what
// scan() throws; BadInputError if the context is shorter than kShortestContext; UsageError for a
// grid beyond the context or for a pattern; UnsupportedError for a source without values, queries
// or keys.
Results converge(HeadSource& source, const ConvergeOptions& options, Progress* progress = nullptr,
                 std::stop_token stop = {});

// Describes the findings: horizons, rates, budgets and the cache.
std::vector<SummaryLine> summarize_convergence(const Results& results);

}  // namespace headgauge
