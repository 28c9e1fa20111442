// The commands in the words of findings and flags (SummaryLine::next, FlagInfo::next).
#pragma once

#include <string>

#include "headgauge/results.hpp"

namespace headgauge {

// `words` with commands of which MODEL, TEXT and CHANGE become those of the results, quoted for a
// shell, as far as the results say; HEAD becomes `head` where one is given.
std::string with_commands(const Results& results, std::string words, const std::string& head = "");

// The same in all lines of Results::summary, HEAD being the first head of a line.
void fill_in_commands(Results& results);

// The command alone, without what is said of it, with HEAD replaced.
std::string command_in(const std::string& words, const std::string& head);

}  // namespace headgauge
