#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace headgauge {
namespace {

constexpr auto kValid = std::string_view::npos;

// Encodes any value below 2^21 in the shortest form, well-formed or not.
std::string encode(std::uint32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8, AcceptsEveryScalarValueAndNothingElse) {
  for (std::uint32_t code = 0; code < 0x200000; ++code) {
    const bool scalar = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    ASSERT_EQ(find_invalid_utf8(encode(code)) == kValid, scalar) << std::hex << code;
  }
}

TEST(Utf8, RejectsOverlongForms) {
  for (std::string_view bytes : {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF",
                                 "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF"}) {
    EXPECT_EQ(find_invalid_utf8(bytes), 0u);
  }
}

TEST(Utf8, NamesTheFirstBadByte) {
  EXPECT_EQ(find_invalid_utf8(""), kValid);
  EXPECT_EQ(find_invalid_utf8("abc\xFF"), 3u);
  EXPECT_EQ(find_invalid_utf8("\x80"), 0u);
  EXPECT_EQ(find_invalid_utf8("\xC3\xA9\xC3"), 2u) << "cut short";
  EXPECT_EQ(find_invalid_utf8("\xE2\x82\xAC\xE2\x82 x"), 3u) << "third byte is no continuation";
  EXPECT_EQ(find_invalid_utf8("\xF0\x9F\x98\x80\xF0\x9F\x98"), 4u);
  EXPECT_EQ(find_invalid_utf8("\xF8\x88\x80\x80\x80"), 0u);
}

}  // namespace
}  // namespace headgauge
