// Layers and heads of results by their labels, which need be neither all nor in order.
#pragma once

#include <string>

#include "headgauge/results.hpp"

namespace headgauge {

// The number of a layer or head ("layer", "head"); -1 for a label that is none.
int head_label(const Results& results, const char* coord, Index place);

// The heads of a pattern as HeadSelection has it. Throws UsageError if a part of it between commas
// names no head of these results.
HeadSelection select_heads(const Results& results, const std::string& pattern);

}  // namespace headgauge
