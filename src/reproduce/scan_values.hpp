// What the claims of paper A read from the results of a scan.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "headgauge/cells.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// The labels of a coordinate; empty without it.
inline std::span<const double> numbers(const Results& results, std::string_view coord) {
  return results.coord(coord) == nullptr ? std::span<const double>() : results.coord_numbers(coord);
}

// The value of a head at one place along `along` (length or position) and one top_n.
inline std::optional<double> value_at(const Results& results, std::string_view metric,
                                      const HeadName& head, std::string_view along, Index at,
                                      Index n) {
  const auto cell = find_cell(
      results, metric,
      {{"layer", head.layer_index}, {"head", head.head_index}, {along, at}, {"top_n", n}});
  return cell ? std::optional(cell->value) : std::nullopt;
}

}  // namespace headgauge
