// The text that examples stand in.
#pragma once

#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

inline constexpr Index kTokensAround = 8;  // shown on either side of a query or a key

// The tokens around the queries and keys of the examples, document by document: what lies within 8
// tokens of one, neighbours joined. Documents whose tokens the source does not know have none.
std::vector<Passage> passages_around(std::span<const Example> examples, const HeadSource& source);

}  // namespace headgauge
