// Finds how far a temperature can be changed before the loss changes.
#pragma once

#include <optional>

#include "headgauge/results.hpp"

namespace headgauge {

// Returns the temperatures at which the loss at the longest length is shown to change by less than
// 0.05 nats in either direction, for a comparison with at least two softmax:t=T in all chosen
// heads. Goes outwards from T = 1 on each side, as long as two one-sided tests of the paired change
// (Student's t, 5 %) show it; this fixed order needs no correction for multiple tests. Nothing if
// the loss was not measured.
std::optional<SummaryLine> temperature_range(const Results& results);

}  // namespace headgauge
