// Applies the catalogue's declarations to metrics in results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Adds a metric of the catalogue with its declared dims, unit, interval and p, undefined
// everywhere.
LabelledArray& add_declared(Results& results, std::string_view name);

// Adds it with other dims, for example with an additional dim for several runs.
LabelledArray& add_declared(Results& results, std::string_view name, std::vector<std::string> dims);

// Sets the "none was found" value and the identifier flag of a metric that the catalogue knows.
void give_meaning(std::string_view name, LabelledArray& metric);

}  // namespace headgauge
