// How much context a head needs (arXiv 2512.10656): its horizon and the rate that follows from it,
// the error of its output over a subsample of the tokens, and the number of keys that it can do
// with (docs/convergence.md).
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/scan.hpp"

namespace headgauge {

struct ConvergeOptions {
  // What is measured beside: paper A's metrics at the same context. The errors and budgets are
  // those of the longest of scan.lengths, and under scan.normalizer; scan.pattern must be "none".
  // No measures: weights, distance, separability and dispersion.
  ScanOptions scan;
  std::vector<int> grid;  // numbers of tokens; empty: `points` geometric ones, L/8 to 3L/4
  int points = 10;
  int replicates = 500;                                // subsamples at each number of tokens
  int draws = 32;                                      // sets of keys drawn at random for a budget
  std::vector<double> tolerances = {0.01, 0.05, 0.1};  // 0.05 is always among them
};

std::vector<Option> options_of(ConvergeOptions& options);

// Shorter contexts leave too few tokens to draw from.
inline constexpr int kShortestContext = 64;

// The grid that stands for none: `points` geometric numbers from length/8 to 3 length/4, truncated
// as numpy's astype(int) does, each once.
std::vector<int> default_grid(int length, int points);

// What scan() gives for paper A's groups, and over dims layer, head: horizon, horizon_paper,
// rate_mean, rate_covariance (with standard errors; `rows` = points of the fit), rate_predicted,
// points_under_floor_mean, _covariance, error_constant; error_mean, error_covariance and their
// _absolute forms (tokens), tokens_for_error and budget_keys (tolerance, sampler); per layer
// cache_bytes_by_layer (cache), of the model cache_bytes (cache), rank_correlation with _low and
// _high (capacity_metric, convergence_metric). Definitions: docs/mathematics.md 5a. Deterministic
// on any number of threads; interrupted, the layers that were finished.
// Throws what scan() throws; BadInputError where the context is shorter than kShortestContext;
// UsageError for a grid beyond the context or a pattern; UnsupportedError for a source without
// values or queries and keys to look at.
Results converge(HeadSource& source, const ConvergeOptions& options, Progress* progress = nullptr,
                 std::stop_token stop = {});

// Sentences on what was found: horizons, rates, budgets, the cache, and where the papers meet.
std::vector<SummaryLine> summarize_convergence(const Results& results);

}  // namespace headgauge
