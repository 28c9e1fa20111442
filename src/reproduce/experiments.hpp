// Stores several experiments in one file, each under its own name.
#pragma once

#include <array>
#include <span>
#include <string>

#include "headgauge/results.hpp"

namespace headgauge {

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
