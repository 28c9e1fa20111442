// Lists of normalizers or patterns in options.
#pragma once

#include <string>
#include <vector>

namespace headgauge {

// Splits each list into its specs: a part after a comma that has the form key=value belongs to the
// spec before it.
std::vector<std::string> split_specs(const std::vector<std::string>& lists);

}  // namespace headgauge
