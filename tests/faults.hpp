// What a call throws, what a message says, and numbers that are the same.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
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

inline bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

using Where = std::source_location;

inline void expect_part(const std::string& text, const std::string& part,
                        const Where& where = Where::current()) {
  if (text.find(part) != text.npos) return;
  ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
      << "got \"" << text << "\", expected " << part;
}

inline void expect_no_part(const std::string& text, const std::string& part,
                           const Where& where = Where::current()) {
  if (text.find(part) == text.npos) return;
  ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line()))
      << "got \"" << text << "\", expected no " << part;
}

}  // namespace headgauge
