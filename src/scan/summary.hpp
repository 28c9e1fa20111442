// Five or six sentences for people: what this model's heads do, where they stop selecting, what to
// do about it.
#pragma once

#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Whether the test behind critical N could reject anything with so many heads: the asymptotic p of
// two samples of n that do not overlap at all is about 2 exp(-n), which must be below the level.
bool critical_n_can_reject(const Results& results, std::size_t heads);

// Of a scan: at most six lines, fewer where the results hold too little. Results::flags must be
// filled in.
std::vector<SummaryLine> summarize_scan(const Results& results);

}  // namespace headgauge
