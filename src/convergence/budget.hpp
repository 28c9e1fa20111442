// Measures how few keys a head's output needs (docs/mathematics.md 5a, tokens_for_error).
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

// The keys that are kept. uniform: k drawn at random without replacement; recent: the first 4 and
// the k - 4 nearest before the query (bidirectional: on either side); top: those of the k largest
// weights.
enum class Sampler { uniform, recent, top };
inline constexpr Sampler kSamplers[] = {Sampler::uniform, Sampler::recent, Sampler::top};
inline constexpr const char* kSamplerNames[] = {"uniform", "recent", "top"};
// Number of first keys that "recent" keeps; many heads attend to them (StreamingLLM).
inline constexpr Index kSinks = 4;

struct BudgetOptions {
  int draws = 32;   // draws for "uniform"
  int queries = 0;  // number of measured rows, evenly spaced over the last quarter; 0: all of it
  std::uint64_t seed = 0;
  std::stop_token stop = {};  // after a stop request the rest is not computed
};

// Returns 12 geometric points from 8 (at most `length`) to `length`, rounded, without duplicates.
std::vector<Index> budget_points(Index length);

struct BudgetCurves {
  std::vector<Index> keys;  // budget_points() of the keys that the last query sees
  // Mean over the queries of ||o_k - o|| / ||o||, with o_k the output over k keys only; one list
  // per sampler. Empty if every query has output 0.
  std::vector<std::vector<double>> error;
  // Mean over the queries of the limit of n E||o_n - o||^2 / ||o||^2 for n keys drawn with
  // replacement (docs/mathematics.md 5): (n / ||o||)^2 sum a^2 ||v - o||^2 over the query's n keys.
  // Undefined if the normalizer is not pointwise.
  double error_constant = kUndefined;
};

// Measures the queries in the last quarter of the first `length` rows. A set never has more keys
// than the query sees, where the error is 0.
BudgetCurves budget_curves(const HeadInput& head, const Normalizer& normalizer, Index length,
                           const BudgetOptions& options, ThreadPool& pool);

// Returns the memory for the random sets of a head of this length.
std::size_t budget_bytes(Index length, int draws);

// Returns the smallest number of keys from which the error stays at most `tolerance`. Interpolates
// linearly in log k between points and rounds up. Returns the first point if the error is small
// enough everywhere. If a curve falls below the tolerance and rises again, only its final fall
// counts.
double keys_for_error(std::span<const Index> keys, std::span<const double> error, double tolerance);

}  // namespace headgauge
