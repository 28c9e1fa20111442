// The experiments of `reproduce tokens`, which one file stores, each under its own name.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "headgauge/compare.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Those with random keys: all heads at once, with increasing numbers of keys, and one head at a
// time.

// The windows that random keys are added to; 1 is the query's own key.
inline constexpr int kKeyWindows[] = {1, 32};

// Returns the numbers of random keys: doubling from 4 to half of the context.
std::vector<int> numbers_of_random_keys(int length);

// Every head sees a window and random keys, for each combination of both. The lengths divide the
// second half of the context into 8 batches of rows.
CompareOptions all_heads_options(int length, const ScanOptions& scan);

// One head at a time sees its own key and 32 random ones.
CompareOptions each_head_options(int length, const ScanOptions& scan);

// Returns the results of the first comparison over the coordinates `window` and `random` instead of
// pattern names; undefined where a pattern was left out.
Results by_random_keys(const Results& comparison);

// Returns the results of the second comparison over layer and head.
Results by_head(const Results& comparison);

// An experiment on random tokens. Atoms stand at `radius` standard deviations; `proxy` is their
// sub-Gaussian variance proxy over the variance: the largest 2 log E e^(t y) / t^2
// (docs/mathematics.md O5).
struct OfTokens {
  const char* name;
  const char* tokens;  // SyntheticOptions::tokens
  double radius = 1, proxy = 1;
};
inline constexpr std::array<OfTokens, 5> kOfTokens = {{{"gaussian", "gaussian"},
                                                       {"sphere", "sphere"},
                                                       {"atoms1", "atoms", 1, 1},
                                                       {"atoms2", "atoms", 2, 1.057},
                                                       {"atoms4", "atoms", 4, 2.332}}};
inline constexpr std::span kAtoms = std::span(kOfTokens).subspan<2>();

// Adds an experiment's coordinates and metrics to `whole` under `name`. Of the metrics over layer
// and head, adds only paper B's.
void add_experiment(const Results& experiment, const std::string& name, Results& whole);

}  // namespace headgauge
