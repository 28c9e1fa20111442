// Which intervention is worth making, if any.
#pragma once

#include <vector>

#include "headgauge/compare.hpp"

namespace headgauge {

// For every head of which some intervention, in that head alone, lowers the loss at the longest
// length, a flag for the one that lowers it most: value = the change, threshold = that of
// LossGains. It is "recommended" where the gain was confirmed on another text, else "candidate".
std::vector<Flag> flag_gains(const Results& results);

}  // namespace headgauge
