// Puts the arguments of a command in the order that the parser needs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace headgauge::cli {

// Returns the arguments with all positional ones before the options (some options take every word
// that follows), with each list of separate words joined into one word, and with "-" replaced by
// the path of the standard input. If no positional argument gives MODEL, the last of several words
// after an option becomes MODEL if it names a model. Words from an unknown option on stay as they
// are. Throws UsageError if MODEL is missing because all those words are files, or if the standard
// input would be read twice.
std::vector<std::string> arranged(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace headgauge::cli
