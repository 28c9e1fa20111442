// The words of a command in the order in which the parser takes them as they were meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace headgauge::cli {

// The words with what stands by itself before all options, of which some take every word behind
// them; with lists whose items are words of their own in one word; and with the path of the
// standard input for the file "-". Where the command has a MODEL and none stands by itself, it is
// the last of the several words behind an option, if that names a model. From an unknown option on
// the words stay as they are. Throws UsageError where MODEL is needed and all those words are
// files, or the standard input is to be read twice.
std::vector<std::string> arranged(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace headgauge::cli
