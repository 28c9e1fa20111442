// The table of interventions on stdout.
#pragma once

#include <string>

#include "cli/table.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Model, text and settings; a row an intervention, at the longest length: loss, and means over the
// heads; or, where heads or layers were changed one at a time, a row for each with the intervention
// that costs least. At most 100 columns.
std::string render_comparison(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
