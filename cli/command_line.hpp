// Runs the command line of headgauge; the caller handles errors.
#pragma once

#include <string>
#include <vector>

namespace headgauge::cli {

// Runs one command with the arguments that follow the program name; returns its exit code. Throws
// Error; UsageError if the arguments are invalid.
int run_command(const std::vector<std::string>& arguments);

}  // namespace headgauge::cli
