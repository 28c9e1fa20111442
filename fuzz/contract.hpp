// What every reader promises of whatever it is given: it works, or it refuses with an Error of one
// line.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string_view>

#include "headgauge/base.hpp"

namespace headgauge::fuzzing {

// Ends the process where a message is not one line that says something.
inline void require_one_line(std::string_view message) {
  if (message.empty() || message.find('\n') != message.npos) std::abort();
}

// Runs one of several steps, so that an input that one of them refuses reaches the next as well.
template <class Step>
void works_or_is_refused(const Step& step) {
  try {
    step();
  } catch (const Error& error) {
    require_one_line(error.what());
  }
}

// Ends the process where what has to hold does not.
inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace headgauge::fuzzing
