// The weights group: how concentrated the weights of a row are, and on which keys they lie
// (docs/mathematics.md 7a).
#pragma once

#include <memory>

#include "headgauge/measure.hpp"

namespace headgauge {

std::unique_ptr<Measure> make_weights_measure(int slots);

}  // namespace headgauge
