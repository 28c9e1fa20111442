// Text from files in messages.
#pragma once

#include <string>

namespace headgauge {

// Text from a file for a message of one line: control characters become "?".
std::string legible(std::string text);

}  // namespace headgauge
