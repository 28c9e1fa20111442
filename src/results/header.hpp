// The format of results.json, and its parts for code that writes them elsewhere.
#pragma once

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "headgauge/files.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

inline constexpr std::string_view kResultsFormat = "headgauge.results/";
inline constexpr int kResultsMajor = 3;
inline constexpr std::string_view kResultsSchema = "headgauge.results/3";

// The maximum number of changes of each kind in a file.
inline constexpr std::size_t kMostChanges = 5000;

// Returns null for an undefined or infinite number.
inline nlohmann::ordered_json json_number(double number) {
  return std::isfinite(number) ? nlohmann::ordered_json(number) : nlohmann::ordered_json();
}

// Returns every key of results.json except "metrics" and those of examples_to_json().
nlohmann::ordered_json header_to_json(const Results& results);

// Returns whether the results show anything in its text.
bool has_examples(const Results& results);

// Returns "examples" and "token_losses", if there are any, and "passages".
nlohmann::ordered_json examples_to_json(const Results& results);

// Returns every key of a metric except its numbers: dims, unit and, if set, none, identifier and
// change_of.
nlohmann::ordered_json attributes_to_json(const LabelledArray& metric);

// Writes the text of results.json piece by piece.
void put_results(const Results& results, AtomicFile& file);

}  // namespace headgauge
