// Which intervention is worth making, if any.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"
#include "headgauge/cells.hpp"

namespace headgauge {

// The heads that some intervention changes: those with an output_change, or all where there is
// none.
std::vector<HeadName> changed_heads(const Results& results);

// Whether a change of the loss is a gain: below -2 standard errors (over blocks of the text) and by
// more than 1e-4 nats, what rounding could do.
bool lowers_loss(const MetricCell& change);

// For every head of which some intervention, in that head alone, lowers the loss at the longest
// length: a flag "recommended" for the one that lowers it most, value = the change, threshold = -2
// standard errors.
std::vector<Flag> recommend_heads(const Results& results);

}  // namespace headgauge
