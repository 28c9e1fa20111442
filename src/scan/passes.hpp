// Sources that are not causal: every query sees the whole context, so each length needs its own
// pass.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "headgauge/heads.hpp"
#include "headgauge/results.hpp"
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

// Copies every metric of `runs`, which must all have the same metrics and coordinates, to `merged`
// with the dimension `dim` after layer and head, one entry per run. All except metrics by position
// get a twin NAME_change against the first run, whose standard error treats the two as independent;
// it is undefined where either run found nothing (critical_n of -1). `wanted` selects metrics by
// their dims. `merged` must have the coordinates.
void merge_runs(std::span<const Results* const> runs, const std::string& dim,
                const std::function<bool(const LabelledArray&)>& wanted, Results& merged);

// Adds NAME_change: the change of `name` against its first entry along `dim`, as merge_runs() does.
void add_change(const std::string& name, const std::string& dim, Results& merged);

}  // namespace headgauge
