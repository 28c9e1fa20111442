// Renders the tables of headgauge reproduce.
#pragma once

#include <string>

#include "cli/table.hpp"

namespace headgauge::cli {

// Returns every claim with its verdict and the measured values, and the table of costs next to the
// paper's.
std::string render_claims(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
