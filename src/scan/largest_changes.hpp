// Which heads an intervention changes most.
#pragma once

#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// A sentence for each of a few metrics of a comparison: the head and the intervention where it
// changes most at the longest length. Nothing for metrics that were not measured under the
// interventions.
std::vector<SummaryLine> largest_changes(const Results& results);

}  // namespace headgauge
