// The dim `outcome`: what a number was measured on. Its labels are `text`, `replay`, `answers` (of
// all tasks together) and the names of tasks, which come last.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Adds labels to the coordinate outcome, which is made if there is none; metrics that have the dim
// are undefined there. A name that is taken gets " (task)" behind it. Returns the place of the
// first.
Index add_outcomes(const std::vector<std::string>& names, Results& results);

}  // namespace headgauge
