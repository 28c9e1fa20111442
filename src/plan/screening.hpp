// Orders the candidates if not all are tried.
#pragma once

#include <stop_token>
#include <vector>

#include "plan/space.hpp"

namespace headgauge {

// Returns the mean relative change of a head's output under each choice, by layer, key-value head
// and choice (the maximum over heads that share keys). This metric predicts the change of the loss
// best (docs/validity.md) and costs one pass over the texts.
PerHead<std::vector<double>> output_changes(HeadSource& source, const PlanSpace& space, int threads,
                                            const std::stop_token& stop);

// Marks the `count` smallest changes, by head (layer by layer) and choice.
std::vector<std::vector<bool>> least_changed(const PerHead<std::vector<double>>& changes,
                                             int count);

}  // namespace headgauge
