// Which heads an exchange changes most.
#pragma once

#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// A sentence for each of a few metrics of a comparison: the head and the rival where it changes
// most at the longest length. Nothing for metrics that were not measured under the rivals.
std::vector<SummaryLine> largest_changes(const Results& results);

}  // namespace headgauge
