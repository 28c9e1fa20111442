// How far a softmax moves when its logits take a step (math D4.2), for one row at many temperatures
// and step sizes.
#pragma once

#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// Reused between rows; one a thread.
struct SensitivityWorkspace {
  AlignedVector<double> base, moved;
};

// gains[t * epsilons.size() + e] = ||softmax((l + eps v)/T) - softmax(l/T)||_2 / eps for every
// temperature T and step eps, all of them positive. `v` has the size of `logits`, which are finite
// and not empty.
void softmax_sensitivity(std::span<const float> logits, std::span<const double> v,
                         std::span<const double> temperatures, std::span<const double> epsilons,
                         SensitivityWorkspace& work, std::span<double> gains);

}  // namespace headgauge
