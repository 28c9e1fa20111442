// Which exchange is worth making, if any.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// For every head of which some rival, in that head alone, changes the loss at the longest length by
// less than -2 standard errors (over blocks of the text): a flag "recommended" for the one that
// lowers it most, value = the change, threshold = -2 standard errors.
std::vector<Flag> recommend_heads(const Results& results);

}  // namespace headgauge
