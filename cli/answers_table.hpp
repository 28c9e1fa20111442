// Renders the answers of tasks, for scan and compare.
#pragma once

#include <string>

#include "cli/table.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Returns one row for each task, of a comparison one for each task and intervention; empty without
// tasks. A task that the unchanged model is not shown to do is faint: it says nothing.
std::string render_answers(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
