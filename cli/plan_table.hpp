// Renders the tables of headgauge plan.
#pragma once

#include <string>

#include "cli/table.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Returns, for every budget, the plan and its competitors of the same size on the texts of
// --confirm; then the number of keys that each head keeps under the first plan.
std::string render_plan(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
