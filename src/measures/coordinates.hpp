// Reads coordinates of results that are whole numbers.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Returns the values of a coordinate such as "head"; empty if it is absent or holds names.
inline std::vector<int> coordinate_numbers(const Results& results, const std::string& name) {
  std::vector<int> numbers;
  const Dimension* dim = results.coord(name);
  if (dim == nullptr || !std::holds_alternative<std::vector<double>>(dim->labels())) return numbers;
  for (const double value : dim->numbers()) numbers.push_back(static_cast<int>(value));
  return numbers;
}

}  // namespace headgauge
