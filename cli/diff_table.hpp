// Renders the comparison of two runs: their settings, and the values that changed.
#pragma once

#include <span>
#include <string>

#include "cli/table.hpp"
#include "headgauge/diff.hpp"

namespace headgauge::cli {

// `list` comes from list_changes(diff); options.top limits the lines of each of its two parts (0:
// all).
std::string render_diff(const Results& diff, const ChangeList& list, const TableOptions& options);

// Returns one line that says that all limits hold.
std::string limits_hold(std::span<const LimitCheck> checks);

}  // namespace headgauge::cli
