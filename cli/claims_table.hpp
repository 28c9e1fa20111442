// What headgauge reproduce prints.
#pragma once

#include <string>

#include "cli/table.hpp"

namespace headgauge::cli {

// Every claim with its verdict and what was measured, and the table of costs beside the paper's.
std::string render_claims(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
