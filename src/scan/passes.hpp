// Sources that are not causal: every query sees the whole context, so that each length is a pass of
// its own.
#pragma once

#include <functional>

#include "headgauge/heads.hpp"
#include "scan/scan_plan.hpp"

namespace headgauge {

// What is done at one length: that of the plan.
using Pass = std::function<Results(const ScanPlan& plan, Progress* progress)>;

// Runs `pass` for each length of the plan, the longest first, with the source cut to it, and sets
// the results side by side along `length`; whatever has no length is that of the longest pass.
// Where `stop` is requested, the passes finished so far remain, or the first as far as it came.
Results pass_over_lengths(HeadSource& source, const ScanPlan& plan, const Pass& pass,
                          Progress* progress);

// The results of passes along `length`, which is ascending; all but the last (the longest) may lack
// interventions that the last has, whose cells are then undefined.
Results merge_lengths(std::vector<Results> passes);

}  // namespace headgauge
