// How numbers are written, in tables and sentences.
#pragma once

#include <string>

#include "headgauge/cells.hpp"
#include "view/declared_table.hpp"

namespace headgauge::view {

// Writes the value of a cell over `whole` as its column says, with its error or interval if the
// column asks for one.
std::string shown(const Results& results, const MetricCell& cell, const DeclaredColumn& column,
                  double whole = 1);

}  // namespace headgauge::view
