// What results say in sentences.
#pragma once

#include "headgauge/results.hpp"

namespace headgauge::cli {

// Prints the summary below a table, and indented below each sentence what it means and which
// command goes further; what neighbours have in common stands below the last of them.
void print_findings(const Results& results);

}  // namespace headgauge::cli
