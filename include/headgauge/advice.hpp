// Fills in the commands that findings and flags suggest (SummaryLine::next, FlagInfo::next).
#pragma once

#include <algorithm>
#include <string>

#include "headgauge/results.hpp"

namespace headgauge {

// Returns how many keys a suggested pattern keeps in texts of `length` tokens: at most `most`, and
// at most half of them, so that it drops keys.
constexpr Index suggested_keys(Index length, Index most) {
  return std::clamp<Index>(length / 2, 1, most);
}

// Returns `words` with MODEL, TEXT, TASKS, CHANGE and PLAN in its commands replaced by those of the
// results, quoted for a shell. A word that the results do not give is not replaced. HEAD becomes
// `head` if one is given.
std::string with_commands(const Results& results, std::string words, const std::string& head = "");

// Does the same in Results::notices and in every line of Results::summary; HEAD becomes the first
// head of the line.
void fill_in_commands(Results& results);

// Returns the command alone, without the words around it, for any model: with MODEL and FILE for
// the user's own, and with HEAD replaced if a head is given.
std::string command_in(const std::string& words, const std::string& head = "");

}  // namespace headgauge
