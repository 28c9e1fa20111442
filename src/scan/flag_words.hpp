// Explanations of the flags for readers.
#pragma once

#include <string>

namespace headgauge {

struct FlagWords {
  std::string means;
  std::string next;  // the command to run next, for FlagInfo::next
};

// Returns the explanation of the flag of that name; std::logic_error if there is none.
FlagWords words_of_flag(const std::string& name);

}  // namespace headgauge
