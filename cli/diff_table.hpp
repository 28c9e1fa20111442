// Two runs side by side: what was compared, and which values changed.
#pragma once

#include <string>
#include <vector>

#include "cli/table.hpp"
#include "headgauge/diff.hpp"

namespace headgauge::cli {

// `list` is that of list_changes(diff); options.top lines are shown of each of its two
// parts, 0: all.
std::string render_diff(const Results& diff, const ChangeList& list, const TableOptions& options);

// A line for each limit that is exceeded, or one that says that all hold.
std::vector<std::string> limit_lines(std::span<const Limit> limits,
                                     std::span<const LimitCheck> checks);

}  // namespace headgauge::cli
