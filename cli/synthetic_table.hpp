// Renders the tables of headgauge converge --synthetic.
#pragma once

#include <string>

#include "cli/table.hpp"

namespace headgauge::cli {

// Returns one row for each scale: horizon, rates and the errors at both ends of the grid; then the
// worst queries of the balls and the hardmax limit, if they were measured.
std::string render_simulation(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
