// The table of headgauge plan on stdout.
#pragma once

#include <string>

#include "cli/table.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// For every budget the plan and its rivals of the same size on the texts of --confirm; then the
// keys that the first plan leaves to each head.
std::string render_plan(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
