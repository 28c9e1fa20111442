// The table of headgauge validate on stdout.
#pragma once

#include <string>

#include "cli/table.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Metrics that the table shows unless --top says otherwise.
inline constexpr int kUsualTop = 20;

// What was done to the heads and what it did to the loss; then the rank correlation of every
// predictor with it, the largest first (the first `options.top`, 0 being 20), and of every flag.
std::string render_validation(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
