// English nouns that tasks use as keys, values and names.
#pragma once

#include <string>
#include <vector>

namespace headgauge {

// Returns common nouns of one word, none of which is part of another.
const std::vector<std::string>& nouns();

}  // namespace headgauge
