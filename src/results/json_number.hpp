// A number in JSON.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace headgauge {

// Returns null for an undefined or infinite number.
inline nlohmann::ordered_json json_number(double number) {
  return std::isfinite(number) ? nlohmann::ordered_json(number) : nlohmann::ordered_json();
}

}  // namespace headgauge
