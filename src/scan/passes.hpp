// Sources that are not causal: every query sees the whole context, so each length needs its own
// pass.
#pragma once

#include <functional>

#include "headgauge/heads.hpp"
#include "scan/resolved_scan.hpp"

namespace headgauge {

// Runs one pass at the length of the plan.
using Pass = std::function<Results(const ResolvedScan& plan, Progress* progress)>;

// Runs `pass` for each length of the plan, longest first, with the source cut to it, and merges the
// results along `length`; everything without a length comes from the longest pass. If `stop` is
// requested, keeps the finished passes, or the finished part of the first.
Results pass_over_lengths(HeadSource& source, const ResolvedScan& plan, const Pass& pass,
                          Progress* progress);

// Merges the results of passes along `length`, ascending. All except the last (the longest) may
// lack interventions that the last has; those cells are undefined.
Results merge_lengths(std::vector<Results> passes);

}  // namespace headgauge
