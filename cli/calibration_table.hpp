// What headgauge converge --tolerance-nats prints.
#pragma once

#include <string>

#include "cli/table.hpp"

namespace headgauge::cli {

// What results hold of budgets for rises of the loss; empty where they hold nothing.
std::string render_calibration(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
