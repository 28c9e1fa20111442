// Flags: properties of a head that deserve a user's attention.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Declares a flag once, for the results, the legend of the table and the docs. A flag describes a
// head. docs/validity.md says what it predicts of the loss when the head is changed. A flag that
// predicts nothing on two of three models gives no advice.
struct FlagInfo {
  std::string name;
  std::string short_name;  // for a column of the table
  std::string meaning;     // when it is raised
  std::string source;
  bool role = false;  // true if it names what a head does; a head may have several (docs/roles.md)
  std::string means = {};  // what it means for the user
  // A suggested command, in backticks, and what it shows; HEAD, MODEL and TEXT in it are replaced
  // by the user's.
  std::string next = {};
};

const std::vector<FlagInfo>& flag_infos();

// Returns whether heads were measured on enough rows for flags and findings.
bool has_rows_to_judge(const Results& results);

// Finds all flags of all heads at the longest length, ordered by layer, by head and as in
// flag_infos(). A flag whose metrics are not in the results is not raised; no flag is raised if
// has_rows_to_judge() is false.
std::vector<Flag> find_flags(const Results& results);

}  // namespace headgauge
