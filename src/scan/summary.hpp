// Five or six sentences for people: what this model's heads do, where they stop selecting, what to
// do about it.
#pragma once

#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Whether so many heads could show critical N at all: of n heads the smallest p is about 2^-n,
// which must be below the level.
bool critical_n_can_be_shown(const Results& results, std::size_t heads);

// Of a scan: at most six lines, fewer where the results hold too little. Results::flags must be
// filled in.
std::vector<SummaryLine> summarize_scan(const Results& results);

}  // namespace headgauge
