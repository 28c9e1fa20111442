// Renders the table of interventions.
#pragma once

#include <string>

#include "cli/table.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Returns model, text and settings, and one row for each intervention at the longest length: loss,
// and means over the heads. If heads or layers were changed one at a time, each has one row with
// the intervention that costs least. At most 100 columns wide.
std::string render_comparison(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
