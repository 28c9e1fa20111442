#include "base/strict_json.hpp"

#include <gtest/gtest.h>

#include "faults.hpp"
#include "headgauge/base.hpp"

namespace headgauge {
namespace {

std::string nested(std::size_t depth) {
  return "{\"a\": " + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
}

template <class Json>
std::string refused(const std::string& text) {
  return thrown<BadInputError>([&] { parse_json_object<Json>(text, "file.json", "mend it"); });
}

template <class Json>
class StrictJson : public ::testing::Test {};
using Kinds = ::testing::Types<nlohmann::json, nlohmann::ordered_json>;
TYPED_TEST_SUITE(StrictJson, Kinds);

TYPED_TEST(StrictJson, ReadsWhatAPlainParseReads) {
  const std::string text =
      R"({"b": [1, -2, 3.5, 1e300, true, null, "\u00e9"], "a": {"c": {}, "d": []}, "e": 1})";
  EXPECT_EQ(parse_json_object<TypeParam>(text, "t"), TypeParam::parse(text));
  EXPECT_EQ(parse_json_object<TypeParam>(text, "t").dump(), TypeParam::parse(text).dump());
  EXPECT_EQ(parse_json<TypeParam>("[1, {}]", "t").dump(), "[1,{}]");
}

TYPED_TEST(StrictJson, HasALimitOfDepth) {
  EXPECT_EQ(refused<TypeParam>(nested(64)), "nothing");
  for (const std::size_t depth : {65, 80000}) {
    EXPECT_EQ(refused<TypeParam>(nested(depth)),
              "file.json: expected a JSON object, found values nested deeper than 64; mend it");
  }
}

TYPED_TEST(StrictJson, SaysWhatIsWrong) {
  expect_part(refused<TypeParam>(R"({"a": 1, "b": {"a": 1}, "a": 2})"), "\"a\" twice");
  expect_part(refused<TypeParam>(R"({"a": 1e999})"), "a number beyond float64");
  expect_part(refused<TypeParam>("{\"a\": \"\xff\"}"), "not UTF-8");
  expect_part(refused<TypeParam>("{\"a\": "), "the end of the file at byte 6");
  expect_part(refused<TypeParam>("{} x"), "a syntax error at byte 3");
  expect_part(refused<TypeParam>("[]"), "a list of 0");
}

TEST(JsonText, EscapesWhatActsOnATerminalAndKeepsTheValue) {
  const nlohmann::ordered_json plain = {{"a", "caf\u00e9\n"}};
  EXPECT_EQ(json_text(plain), plain.dump());
  const nlohmann::ordered_json acts = {{"a\x7f",
                                        "\xc2\x9b"
                                        "2J\u202e"}};
  EXPECT_EQ(json_text(acts), R"({"a\u007f":"\u009b2J\u202e"})");
  EXPECT_EQ(nlohmann::ordered_json::parse(json_text(acts)), acts);
  EXPECT_EQ(json_text("\xff"), "\"\ufffd\"");
}

}  // namespace
}  // namespace headgauge
