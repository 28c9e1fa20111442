// Merges several scans of the same heads along a new dimension.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "headgauge/results.hpp"

namespace headgauge {

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
