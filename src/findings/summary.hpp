// Summarises in five or six sentences what this model's heads do, where they stop selecting, and
// what to do about it.
#pragma once

#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Returns whether this many heads could show critical N at all: with n heads the smallest p is
// about 2^-n, which must be below the level.
bool critical_n_can_be_shown(const Results& results, std::size_t heads);

// Summarises a scan in at most six lines, or fewer if the results are limited. Results::flags must
// be filled in.
std::vector<SummaryLine> summarize_scan(const Results& results);

}  // namespace headgauge
