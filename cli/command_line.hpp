// The command line of headgauge, whatever the program does with its errors.
#pragma once

#include <string>
#include <vector>

namespace headgauge::cli {

// Runs one command with the arguments that follow the name of the program; returns its exit code.
// Throws Error, UsageError where the arguments make no sense.
int run_command(const std::vector<std::string>& arguments);

}  // namespace headgauge::cli
