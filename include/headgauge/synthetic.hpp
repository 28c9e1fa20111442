// Experiments on synthetic tokens (arXiv 2512.10656): compares attention over n random tokens with
// its known limit (docs/synthetic.md).
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/options.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

struct SyntheticOptions {
  // gaussian N(0, variance I), sphere (uniform), or atoms: independent coordinates of that variance
  // that are 0 or `radius` standard deviations from it
  std::string tokens = "gaussian";
  int dimension = 50;
  std::optional<double> variance;   // absent: 0.1
  double radius = 1;                // of the sphere, or of atoms
  std::string values = "identity";  // V: identity, or random as in the paper's code

  // Scales of queries and keys: W_q and W_k have entries N(0, 1/d) times sqrt(scale); for a sphere
  // N(0, 1) times scale. Empty: the paper's 12. Alternatively the horizons that the scales should
  // produce.
  std::vector<double> scales, horizons;
  std::vector<int> grid;  // numbers of tokens; empty: geometric, see `full`
  int points = 0;         // size of the default grid; 0: 8, with `full` 12
  int replicates = 0;     // 0: 20, with `full` 200
  // Uses the paper's grid and replicates: 1000 .. 30 000 tokens (sphere: 10 000 .. 100 000). The
  // quick default is 500 .. 4000.
  bool full = false;

  std::string normalizer = "softmax";
  std::string reference;  // exact or sample; empty: exact if there is one
  int reference_tokens =
      // size of the sample; 0: 100 000, or 4 times the largest n for normalizers that work row by
      // row
      0;
  std::vector<double> radii = {0.5, 1, 1.5, 2, 2.5, 3};  // radii of the balls of queries

  std::uint64_t seed = 0;
  int threads = 0;                    // 0: one per core
  JournalRef journal = no_journal();  // stores and finds finished cells
};

std::vector<Option> options_of(SyntheticOptions& options);

// Runs the simulation. The metrics, by dims: scale: horizon, horizon_paper, rate_predicted,
// rate_mean, rate_covariance (`rows` = points of the fit), points_under_floor_mean,
// points_under_floor_covariance, reference_error_mean, reference_error_covariance. Scale and
// tokens: error_mean, error_covariance and their _absolute forms. Tokens and radius: uniform_error.
// Radius: uniform_rate, uniform_constant, uniform_constant_predicted. Tokens: hardmax_error and
// hardmax_error_predicted. Definitions: docs/mathematics.md 5b.
//
// Deterministic on any number of threads; a run that continues from its journal gives the same
// bits. If interrupted, returns the finished cells, marked partial. Throws UsageError for invalid
// options; UnsupportedError for an exact reference with a normalizer that has no limit;
// ResourceError for lack of memory.
Results simulate(const SyntheticOptions& options, Progress* progress = nullptr,
                 std::stop_token stop = {});

// Describes the findings.
std::vector<SummaryLine> summarize_simulation(const Results& results);

}  // namespace headgauge
