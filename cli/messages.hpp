// What the library says, in the words of the command line.
#pragma once

#include <string>

#include "headgauge/results.hpp"

namespace headgauge::cli {

// "--lengths" for "ScanOptions::lengths", and so on for every option that is declared;
// "--pattern lsh" for "ScanOptions::pattern = lsh".
std::string for_command_line(std::string text);

// The same in the notices, the summary and the claims of results; commands in the summary become
// those of this model and text.
void use_command_line_names(Results& results);

}  // namespace headgauge::cli
