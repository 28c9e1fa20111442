// Recommends interventions.
#pragma once

#include <vector>

#include "headgauge/compare.hpp"

namespace headgauge {

// Makes a flag for every head in which some intervention alone lowers the loss at the longest
// length, for the one that lowers it most: value = the change, threshold = that of LossGains. The
// flag is "recommended" if the gain was confirmed on another text, else "candidate".
std::vector<Flag> flag_gains(const Results& results);

}  // namespace headgauge
