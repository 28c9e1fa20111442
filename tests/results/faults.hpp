// What a call throws, and what a message says.
#pragma once

#include <gtest/gtest.h>

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

inline void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "got \"" << text << "\", expected " << part;
}

}  // namespace headgauge
