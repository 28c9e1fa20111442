// The group locality: where a row's weight lies (docs/mathematics.md 7a).
#pragma once

#include <memory>

#include "headgauge/measure.hpp"

namespace headgauge {

std::unique_ptr<Measure> make_locality_measure();

}  // namespace headgauge
