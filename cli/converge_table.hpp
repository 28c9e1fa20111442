// Renders the tables of headgauge converge.
#pragma once

#include <string>

#include "cli/table.hpp"

namespace headgauge::cli {

// Returns one row for each head: paper A's capacity next to paper B's horizon, rates and key
// budgets; the rank correlations of the two; the key-value cache of every layer.
std::string render_convergence(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
