// Stores several experiments in one file, each under its own name.
#pragma once

#include <string>

#include "headgauge/results.hpp"

namespace headgauge {

// Adds an experiment's coordinates and metrics to `whole` under `name`. Of the metrics over layer
// and head, adds only paper B's.
void add_experiment(const Results& experiment, const std::string& name, Results& whole);

}  // namespace headgauge
