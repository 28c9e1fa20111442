// Parts of results.json, for code that writes them elsewhere.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "headgauge/files.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Returns every key of results.json except "metrics" and those of examples_to_json().
nlohmann::ordered_json header_to_json(const Results& results);

// Returns whether the results show anything in its text.
bool has_examples(const Results& results);

// Returns "examples" and "token_losses", if there are any, and "passages".
nlohmann::ordered_json examples_to_json(const Results& results);

// Returns change_counts and changes: those that stand out most, those with standard errors first.
nlohmann::ordered_json changes_to_json(const ChangeList& list);

// Returns every key of a metric except its numbers: dims, unit and, if set, none, identifier and
// change_of.
nlohmann::ordered_json attributes_to_json(const LabelledArray& metric);

// Writes the text of results.json piece by piece.
void put_results(const Results& results, AtomicFile& file);

}  // namespace headgauge
