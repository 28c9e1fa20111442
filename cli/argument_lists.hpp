// Reads command arguments from files, for lists that are too long for the system's command line.
#pragma once

#include <string>
#include <vector>

namespace headgauge::cli {

// Returns the arguments with each `@FILE` replaced by the lines of the file. Each line is one
// argument, whatever it contains; empty lines are skipped, and a line `@X` is not expanded. Write
// ./@name for a file whose own name begins with @. Throws BadInputError as read_text_file() does.
std::vector<std::string> with_lists(const std::vector<std::string>& arguments);

}  // namespace headgauge::cli
