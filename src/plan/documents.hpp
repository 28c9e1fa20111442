// What plans and calibrations ask of the documents that they are measured on.
#pragma once

#include <string>
#include <vector>

#include "headgauge/heads.hpp"

namespace headgauge {

// The number of tokens that every document of the sources has. UsageError where one has none,
// BadInputError where they differ or are shorter than `least`; `who` begins the message.
Index common_length(const std::vector<HeadSource*>& sources, const std::string& who, Index least);

}  // namespace headgauge
