// Pieces of results.json, for those who write them elsewhere.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "headgauge/files.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Every key of results.json but "metrics", "examples" and "passages".
nlohmann::ordered_json header_to_json(const Results& results);

// "examples" and "passages".
nlohmann::ordered_json examples_to_json(const Results& results);

// change_counts, and changes: those that stand out most, measured ones first.
nlohmann::ordered_json changes_to_json(const ChangeList& list);

// Every key of a metric but its numbers: dims, unit and, where they are set, none, identifier and
// change_of.
nlohmann::ordered_json attributes_to_json(const LabelledArray& metric);

// Writes the text of results.json piece by piece.
void put_results(const Results& results, AtomicFile& file);

}  // namespace headgauge
