// Words of a command that stand in a file: more than a system takes on a command line.
#pragma once

#include <string>
#include <vector>

namespace headgauge::cli {

// The arguments, with the lines of a file in place of each `@FILE`. Lines are words, whatever is in
// them; empty ones are left out, and none of them names a further list. A file whose own name
// begins with @ is ./@name. Throws BadInputError as read_text_file() does.
std::vector<std::string> with_lists(const std::vector<std::string>& arguments);

}  // namespace headgauge::cli
