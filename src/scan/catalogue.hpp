// Every metric there can be, for people and pages.
#pragma once

#include <nlohmann/json.hpp>

namespace headgauge {

// A list of objects, in the order of groups: name, group, command (which gives it), dims (as one
// text), unit, formula, source, meaning, by_position (whether NAME_by_position exists).
nlohmann::ordered_json metrics_catalogue();

}  // namespace headgauge
