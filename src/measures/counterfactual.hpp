// What a pattern that hides keys costs a head: the weight that it loses, and how far its output
// moves.
#pragma once

#include <memory>

#include "headgauge/measure.hpp"

namespace headgauge {

std::unique_ptr<Measure> make_counterfactual_measure(int slots);

}  // namespace headgauge
