// Raises the flags of heads; the catalogue declares them (catalogue.hpp).
#pragma once

#include <vector>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Flags, roles and findings require means over at least this many rows (docs/roles.md).
inline constexpr long long kJudgedRows = 32;

// Returns whether heads were measured on enough rows for flags and findings.
bool has_rows_to_judge(const Results& results);

// Returns whether an excess over a null is worse than chance: its 95 % interval (Student's t) ends
// below 0.
bool no_better_than_chance(const MetricCell& excess);

// Finds all flags of all heads at the longest length, ordered by layer, by head and as in
// flag_infos(). A flag whose metrics are not in the results is not raised; no flag is raised if
// has_rows_to_judge() is false.
std::vector<Flag> find_flags(const Results& results);

}  // namespace headgauge
