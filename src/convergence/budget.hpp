// How few keys a head's output needs (docs/mathematics.md 5a, tokens_for_error).
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

// Which keys are kept: k drawn at random without replacement; the 4 first and the k - 4 nearest
// before the query (bidirectional: on either side); those of the k largest weights.
enum class Sampler { uniform, recent, top };
inline constexpr Sampler kSamplers[] = {Sampler::uniform, Sampler::recent, Sampler::top};
inline constexpr const char* kSamplerNames[] = {"uniform", "recent", "top"};
// Of "recent": the first keys, which many heads rest on (StreamingLLM).
inline constexpr Index kSinks = 4;

struct BudgetOptions {
  int draws = 32;   // of "uniform"
  int queries = 0;  // rows looked at, evenly spaced over the last quarter; 0: all of it
  std::uint64_t seed = 0;
  std::stop_token stop = {};  // once it is asked for, what is left is not computed
};

// 12 geometric points from 8 to `length`, rounded, each once.
std::vector<Index> budget_points(Index length);

struct BudgetCurves {
  std::vector<Index> keys;  // budget_points()
  // Mean over the queries of ||o_k - o|| / ||o||, o_k the output over k keys only: one list for
  // each sampler. Empty where no query has an output other than 0.
  std::vector<std::vector<double>> error;
  // Mean over the queries of n E||o_n - o||^2 / ||o||^2 for n keys drawn with replacement, as n
  // grows (the bridge, docs/mathematics.md 5): (n / ||o||)^2 sum a^2 ||v - o||^2 over its n keys.
  // Undefined for a normalizer that is not pointwise.
  double error_constant = kUndefined;
};

// Of the queries in the last quarter of the first `length` rows; a set is capped at the keys that
// its query sees, where the error is 0.
BudgetCurves budget_curves(const HeadInput& head, const Normalizer& normalizer, Index length,
                           const BudgetOptions& options, ThreadPool& pool);

// Memory for the random sets of a head of this length.
std::size_t budget_bytes(Index length, int draws);

// The smallest number of keys from which on the error is at most `tolerance`: it is linear in log k
// between points, the result is rounded up. The first point where all are small enough. A curve
// that falls below the tolerance and rises above it again counts from where it is below for good.
double keys_for_error(std::span<const Index> keys, std::span<const double> error, double tolerance);

}  // namespace headgauge
