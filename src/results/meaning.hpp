// What the catalogue says of a metric's values.
#pragma once

#include <string_view>

#include "headgauge/array.hpp"

namespace headgauge {

// Sets the value that says none and whether the metric is an identifier, of a metric that the
// catalogue knows.
void give_meaning(std::string_view name, LabelledArray& metric);

}  // namespace headgauge
