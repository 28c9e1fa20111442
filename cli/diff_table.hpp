// Renders the comparison of two runs: their settings, and the values that changed.
#pragma once

#include <string>
#include <vector>

#include "cli/table.hpp"
#include "headgauge/diff.hpp"

namespace headgauge::cli {

// `list` comes from list_changes(diff); options.top limits the lines of each of its two parts (0:
// all).
std::string render_diff(const Results& diff, const ChangeList& list, const TableOptions& options);

// Returns one line for each exceeded limit, or one line that says that all hold.
std::vector<std::string> limit_lines(std::span<const Limit> limits,
                                     std::span<const LimitCheck> checks);

}  // namespace headgauge::cli
