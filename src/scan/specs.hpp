// Lists of normalizers or patterns as options have them.
#pragma once

#include <string>
#include <vector>

namespace headgauge {

// Splits each list into its specs: a comma followed by key= goes on with the spec before it.
std::vector<std::string> split_specs(const std::vector<std::string>& lists);

}  // namespace headgauge
