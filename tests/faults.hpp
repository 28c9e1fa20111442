// What a call throws, and what a message says.
#pragma once

#include <gtest/gtest.h>

#include <source_location>
#include <string>

namespace headgauge {

template <class Fault, class Call>
std::string thrown(const Call& call) {
  try {
    call();
  } catch (const Fault& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "nothing";
}

using Where = std::source_location;

inline void expect_part(const std::string& text, const std::string& part,
                        const Where& where = Where::current()) {
  if (text.find(part) != text.npos) return;
  ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
      << "got \"" << text << "\", expected " << part;
}

}  // namespace headgauge
