// The table of rivals on stdout.
#pragma once

#include <string>

#include "cli/table.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Model, text and settings; a row a rival, at the longest length: loss, and means over the heads;
// or, where heads or layers were exchanged one at a time, a row for each with the rival that costs
// least. At most 100 columns.
std::string render_comparison(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
