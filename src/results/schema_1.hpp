// What files of schema "headgauge.results/1" say in other words.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Where a number comes from, which schema 1 says in ten forms of a string: NAME, "stderr.NAME",
// "coords.NAME", "settings.NAME", "flags.NAME", "heads", "heads.NAME", "rule", "derived",
// "searched", "limit".
FactSource source_of_schema_1(const std::string& text, std::vector<Index> cell);

// Adds what schema 1 leaves to names: the command, which stands in the settings, and of every
// metric the value that says none, whether it is an identifier, and what it is the change of.
void complete_schema_1(Results& results);

}  // namespace headgauge
