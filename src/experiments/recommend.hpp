// Recommends interventions, and says how far back a changed model still copies.
#pragma once

#include <vector>

#include "headgauge/compare.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Makes a flag for every head in which some intervention alone lowers the loss at the longest
// length, for the one that lowers it most: value = the change, threshold = that of LossGains. The
// flag is "recommended" if the gain was confirmed on another text, else "candidate".
std::vector<Flag> flag_gains(const Results& results);

// Returns a sentence for each change of all chosen heads that is shown to copy worse from some
// distance on (docs/mathematics.md 7h); nothing for the others.
std::vector<SummaryLine> reach_sentences(const Results& results);

}  // namespace headgauge
