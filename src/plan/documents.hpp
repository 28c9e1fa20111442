// Checks the documents that plans are measured on.
#pragma once

#include <string>
#include <vector>

#include "headgauge/heads.hpp"

namespace headgauge {

// Returns the number of tokens in every document of the sources. Throws UsageError if a source has
// no document, BadInputError if lengths differ or are below `least`; `who` begins the message.
Index common_length(const std::vector<HeadSource*>& sources, const std::string& who, Index least);

}  // namespace headgauge
