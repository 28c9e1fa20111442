// What orders the candidates where not all are tried.
#pragma once

#include <stop_token>
#include <vector>

#include "plan/space.hpp"

namespace headgauge {

// The mean relative change of a head's output under each choice, by layer, key-value head and
// choice (the largest of the heads that share keys): what metric predicts the change of the loss
// best (docs/validity.md), for one pass over the texts.
PerHead<std::vector<double>> output_changes(HeadSource& source, const PlanSpace& space, int threads,
                                            const std::stop_token& stop);

// By head (layer by layer) and choice: the `count` of the smallest changes.
std::vector<std::vector<bool>> least_changed(const PerHead<std::vector<double>>& changes,
                                             int count);

}  // namespace headgauge
