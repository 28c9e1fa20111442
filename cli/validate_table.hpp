// Renders the tables of headgauge validate.
#pragma once

#include <string>

#include "cli/table.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Number of metrics that the table shows without --top.
inline constexpr int kUsualTop = 20;

// Returns the changes made to the heads and their effect on the loss; then the rank correlation of
// this effect with every predictor, largest first (the first `options.top`, 0 meaning 20), and with
// every flag.
std::string render_validation(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
