// What the tables of heads have in common: the cells of their columns.
#pragma once

#include <string>

#include "headgauge/cells.hpp"

namespace headgauge::cli {

// A value as the tables show it: where none was found ">128", up to which N was searched.
std::string value_text(const Results& results, const MetricCell& cell);

}  // namespace headgauge::cli
