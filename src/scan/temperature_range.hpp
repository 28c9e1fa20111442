// How far a temperature can be changed before the loss does.
#pragma once

#include <optional>

#include "headgauge/results.hpp"

namespace headgauge {

// Of a comparison with two or more of softmax:t=T in all heads chosen: at which of these
// temperatures the loss at the longest length is shown to change by less than 0.05 nats, either
// way. From T = 1 outwards, each side as far as two one-sided tests of the paired change (Student's
// t, 5 %) go on showing it, which needs no correction for their number. Nothing where the loss was
// not measured.
std::optional<SummaryLine> temperature_range(const Results& results);

}  // namespace headgauge
