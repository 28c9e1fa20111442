// results.json without its numbers.
#pragma once

#include <nlohmann/json.hpp>

#include "headgauge/results.hpp"

namespace headgauge {

// Every key of results.json but "metrics".
nlohmann::ordered_json header_to_json(const Results& results);

}  // namespace headgauge
