#include "headgauge/text.hpp"

#include <gtest/gtest.h>

#include "headgauge/base.hpp"

namespace headgauge {
namespace {

TEST(Legible, LeavesWhatCanBeShown) {
  for (const char* text : {"", "plain", "caf\u00e9 \u4e2d\u6587 \U0001F600", "back\\slash"}) {
    EXPECT_EQ(legible(text), text);
  }
}

TEST(Legible, EscapesWhatActsOnATerminal) {
  EXPECT_EQ(legible("a\nb\tc\r"), "a\\x0ab\\x09c\\x0d");
  EXPECT_EQ(legible("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(legible(std::string(1, '\0')), "\\x00");
  EXPECT_EQ(legible("\xc2\x9b"
                    "2J"),
            "\\x9b2J")
      << "the control sequence introducer of C1";
  EXPECT_EQ(legible("\u202e"
                    "abc\u2069\u2028\u061c"),
            "\\u202eabc\\u2069\\u2028\\u061c");
}

TEST(Legible, EscapesWhatCannotBeSeen) {
  EXPECT_EQ(legible("1\u00a02\u200b3\ufeff"), "1\\xa02\\u200b3\\ufeff");
}

TEST(Legible, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(legible("a\xff\x80z\xc3"), "a\\xff\\x80z\\xc3");
  EXPECT_EQ(legible("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a surrogate pair";
}

TEST(Legible, LeavesWhatIsEscaped) {
  const std::string once = legible("a\n\u202e\xff");
  EXPECT_EQ(legible(once), once);
}

TEST(InQuotes, CutsBetweenCharacters) {
  EXPECT_EQ(in_quotes("a\nb"), "\"a\\x0ab\"");
  EXPECT_EQ(in_quotes("abcdef", 4), "\"abcd...\"");
  EXPECT_EQ(in_quotes("ab\u00e9\u00e9", 3), "\"ab\u00e9...\"");
  EXPECT_EQ(in_quotes("abc", 3), "\"abc\"");
}

TEST(NearestWords, BeginWithWhatWasTypedOrDifferLittle) {
  const std::vector<std::string> known = {"entropy", "entropy_normalized", "max_weight", "loss"};
  EXPECT_EQ(did_you_mean("entropi", known), " (did you mean entropy?)");
  EXPECT_EQ(did_you_mean("max_w", known), " (did you mean max_weight?)");
  EXPECT_EQ(did_you_mean("lss", known), " (did you mean loss?)");
  for (const char* far : {"", "x", "distance", "yportne"}) {
    EXPECT_EQ(did_you_mean(far, known), "") << far;
  }
  EXPECT_EQ(did_you_mean("entropi", {}), "");
  EXPECT_EQ(nearest_words("entropi", known, 2), (std::vector<std::string>{"entropy", "loss"}));
}

TEST(AnError, IsOneLineWhateverIsInIt) {
  const BadInputError error(fault("a\nb", "c\x1b[2J", "d\u2028", "e"));
  EXPECT_EQ(std::string(error.what()), "a\\x0ab: expected c\\x1b[2J, found d\\u2028; e");
}

}  // namespace
}  // namespace headgauge
