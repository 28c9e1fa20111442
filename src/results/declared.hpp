// Applies the catalogue's declarations to metrics in results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Adds a metric of the catalogue with its declared dims and unit, undefined everywhere.
LabelledArray& add_declared(Results& results, std::string_view name);

// Adds it with other dims, for example with an additional dim for several runs.
LabelledArray& add_declared(Results& results, std::string_view name, std::vector<std::string> dims);

// Sets the "none was found" value and the identifier flag of a metric that the catalogue knows.
void give_meaning(std::string_view name, LabelledArray& metric);

// Returns whether the catalogue declares the metric as an end of another's confidence interval.
bool is_interval_end(std::string_view name);

}  // namespace headgauge
