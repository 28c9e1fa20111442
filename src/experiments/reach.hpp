// Says how far back a changed model still copies.
#pragma once

#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Returns a sentence for each change of all chosen heads that is shown to copy worse from some
// distance on (docs/mathematics.md 7h); nothing for the others.
std::vector<SummaryLine> reach_sentences(const Results& results);

}  // namespace headgauge
