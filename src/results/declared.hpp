// What the catalogue says of metrics in results.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Adds a metric of the catalogue, undefined everywhere, with the dims and the unit that it
// declares.
LabelledArray& add_declared(Results& results, std::string_view name);

// The same with other dims, such as one more, along which runs stand side by side.
LabelledArray& add_declared(Results& results, std::string_view name, std::vector<std::string> dims);

// Sets the value that says none, and whether the metric is an identifier, of a metric that the
// catalogue knows.
void give_meaning(std::string_view name, LabelledArray& metric);

// Whether the catalogue declares the metric as an end of the interval of another.
bool is_interval_end(std::string_view name);

}  // namespace headgauge
