// What a flag means for its reader.
#pragma once

#include <string>

namespace headgauge {

struct FlagWords {
  std::string means;
  std::string next;  // which command goes further, as FlagInfo::next
};

// Those of the flag of that name; std::logic_error where there are none.
FlagWords words_of_flag(const std::string& name);

}  // namespace headgauge
