// Several scans of the same heads side by side: what they measured gets a dimension more.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "headgauge/results.hpp"

namespace headgauge {

// Copies every metric of `runs`, which all have the same metrics and coordinates, to `merged` with
// the dimension `dim`, one entry a run, after layer and head. They get a
// twin NAME_change against the first run, those by position excepted, whose standard error takes
// the two as independent; it is undefined where either found nothing (critical_n of -1). `wanted`
// chooses by the dims of a metric. `merged` must have the coordinates.
void merge_runs(std::span<const Results* const> runs, const std::string& dim,
                const std::function<bool(const LabelledArray&)>& wanted, Results& merged);

// Adds NAME_change, the change of `name` against its first entry along `dim`, as merge_runs() does.
void add_change(const std::string& name, const std::string& dim, Results& merged);

}  // namespace headgauge
