// Several experiments in one file: each under a name of its own.
#pragma once

#include <string>

#include "headgauge/results.hpp"

namespace headgauge {

// Adds an experiment's coordinates and metrics to `whole` under `name`; of those with the
// coordinates layer and head, paper B's alone.
void add_experiment(const Results& experiment, const std::string& name, Results& whole);

}  // namespace headgauge
