// Experiments on synthetic tokens (arXiv 2512.10656): attention over n random tokens against the
// map that it converges to, which is known (docs/synthetic.md).
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/options.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

struct SyntheticOptions {
  std::string tokens = "gaussian";  // gaussian N(0, variance I), sphere (uniform), mixture
  int dimension = 50;
  std::optional<double> variance;   // of a Gaussian .1, of each component of a mixture .05
  double radius = 1;                // of the sphere, or of that on which the means of a mixture lie
  int components = 4;               // of a mixture
  std::string values = "identity";  // V; or random, as the paper's code draws it

  // Queries and keys: W_q, W_k with entries N(0, 1/d) times sqrt(scale); of a sphere N(0, 1) times
  // scale. Empty: the paper's 12. Or the horizons that the scales are to give.
  std::vector<double> scales, horizons;
  std::vector<int> grid;  // numbers of tokens; empty: geometric ones, see `full`
  int points = 0;         // of the default grid; 0: 8, with `full` 12
  int replicates = 0;     // 0: 20, with `full` 200
  // The paper's grid and replicates in place of quick ones: 1000 .. 30 000 tokens, of a sphere
  // 10 000 .. 100 000, in place of 500 .. 4000.
  bool full = false;

  std::string normalizer = "softmax";
  std::string reference;  // exact, sample; empty: exact where there is one
  int reference_tokens =
      0;  // of a sample; 0: 100 000, under normalizers row by row 4 times the largest n
  std::vector<double> radii = {0.5, 1, 1.5, 2, 2.5, 3};  // of the balls of queries

  std::uint64_t seed = 0;
  int threads = 0;    // 0: as many as there are cores
  std::string state;  // file that finished cells are saved to and read from; empty: none
};

std::vector<Option> options_of(SyntheticOptions& options);

// Over dim scale: horizon, horizon_paper, rate_predicted, rate_mean, rate_covariance (`rows` =
// points of the fit), points_under_floor_mean, _covariance, reference_error_mean, _covariance; with
// dim tokens: error_mean, error_covariance and their _absolute forms. Over (tokens, radius)
// uniform_error, over radius uniform_rate, uniform_constant, uniform_constant_predicted; over
// tokens hardmax_error and hardmax_error_predicted. Definitions: docs/mathematics.md 5b.
// Deterministic on any number of threads, and the same bits where a run was interrupted and taken
// up again from `state`. Interrupted, the cells that were finished, marked partial.
// Throws UsageError for options that make no sense, UnsupportedError for a normalizer without a
// limit where an exact reference is asked for, BadInputError for a state of other settings,
// ResourceError (memory, or a state that cannot be written).
Results simulate(const SyntheticOptions& options, Progress* progress = nullptr,
                 std::stop_token stop = {});

// Sentences on what was found.
std::vector<SummaryLine> summarize_simulation(const Results& results);

}  // namespace headgauge
