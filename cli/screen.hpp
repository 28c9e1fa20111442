// Composes what a command prints of its results: the answer on one screen, or all tables.
#pragma once

#include <string>
#include <vector>

#include "cli/tables.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Returns what is printed of results: the answer in at most 30 lines and 80 columns (25 lines for a
// scan), or with options.table all tables and findings. options.explain adds what the words on it
// mean. `files`: those that were written to `out`; empty if none were.
std::string render_screen(const Results& results, const TableOptions& options,
                          const std::string& out, const std::vector<std::string>& files);

}  // namespace headgauge::cli
