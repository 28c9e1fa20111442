// The words of a command line as values of a command.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace headgauge::cli {

// Sets what the words give to the command that they name, and returns the command; null if they ask
// for help or the version, which `shown` receives. Throws UsageError.
//
// Some options take every word that follows. If no operand gives MODEL, the last of several words
// behind an option becomes MODEL if it names a model. "-" for a file is the standard input.
CommandNode* take_words(CommandNode& app, const std::vector<std::string>& words,
                        std::string& shown);

}  // namespace headgauge::cli
