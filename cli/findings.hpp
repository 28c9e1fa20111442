// Prints the summary of results.
#pragma once

#include "headgauge/results.hpp"

namespace headgauge::cli {

// Prints the summary below a table. Each sentence is followed by its meaning and the command to run
// next, indented; neighbouring sentences that share these have them below the last one.
void print_findings(const Results& results);

}  // namespace headgauge::cli
