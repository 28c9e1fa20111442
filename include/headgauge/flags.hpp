// What about a head is worth a user's attention.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Declares a flag once: the results, the table's legend and the docs use this. A flag describes;
// what it predicts of the loss when the head is changed is in docs/validity.md, and it gives no
// advice where that is nothing on two of three models.
struct FlagInfo {
  std::string name;
  std::string short_name;  // for a column of the table
  std::string meaning;     // when it is raised, in words
  std::string source;
  bool role = false;       // names what a head does: a head may have several (docs/roles.md)
  std::string means = {};  // what it means for the reader
  // Which command goes further, in backticks, and what it says; HEAD, MODEL and TEXT in it are the
  // user's.
  std::string next = {};
};

const std::vector<FlagInfo>& flag_infos();

// Whether heads were measured on enough rows for flags and findings.
bool has_rows_to_judge(const Results& results);

// Finds all flags of all heads at the longest length, by layer, head and then in the order of
// flag_infos(). A flag whose metrics are not in the results is not raised; there are none where
// has_rows_to_judge() is false.
std::vector<Flag> find_flags(const Results& results);

}  // namespace headgauge
