// Renders the tables of headgauge converge --tolerance-nats.
#pragma once

#include <string>

#include "cli/table.hpp"

namespace headgauge::cli {

// Returns the tables of budgets for loss increases; empty if the results have none.
std::string render_calibration(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
