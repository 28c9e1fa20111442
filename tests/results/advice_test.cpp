// The commands in findings and flags, filled in with what a run was given.
#include "headgauge/advice.hpp"

#include <gtest/gtest.h>

#include <string>

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

Results run_of(const Json& model, const Json& settings) {
  Results results;
  if (!model.is_null()) results.model = model_from_json({{"name", model}});
  results.settings = settings;
  return results;
}

// "MODEL TEXT" of a run with these settings.
std::string model_and_text(const Json& settings) {
  return with_commands(run_of("gpt2", settings), "`MODEL TEXT`");
}

TEST(Advice, NamesTheModelAndTheTextsOfTheRun) {
  EXPECT_EQ(model_and_text({{"text", {"a.txt"}}}), "`gpt2 --text a.txt`");
  EXPECT_EQ(model_and_text({{"text", {"a", "b", "c"}}}), "`gpt2 --text a b c`");
  EXPECT_EQ(model_and_text({{"tokens", {"ids.txt"}}}), "`gpt2 --tokens ids.txt`");
  EXPECT_EQ(model_and_text({{"text", Json::array()}, {"tokens", {"i", "j"}}}),
            "`gpt2 --tokens i j`");
  EXPECT_EQ(with_commands(run_of("gpt2", {{"text", {"a"}}}), "`info MODEL`"), "`info gpt2`");
}

TEST(Advice, AsksForATextWhereTheRunDoesNotSayIt) {
  const std::string asks = "`gpt2 --text FILE`";
  for (const Json& settings : {Json::object(), Json{{"text", "a.txt"}}, Json{{"text", nullptr}},
                               Json{{"text", {{"a", "b"}}}}, Json{{"text", {1}}},
                               Json{{"text", {"a", 1}}}, Json{{"text", {"a", "b", "c", "d"}}}}) {
    EXPECT_EQ(model_and_text(settings), asks) << settings;
  }
  EXPECT_EQ(model_and_text({{"text", {"/dev/stdin"}}}), asks) << "it cannot be read again";
  // Texts that are too many are not those that a command names, whatever else was given.
  EXPECT_EQ(model_and_text({{"text", {"a", "b", "c", "d"}}, {"tokens", {"ids"}}}), asks);
}

TEST(Advice, LeavesTheWordsWhereTheRunDoesNotNameItsModel) {
  for (const Json& name : {Json(nullptr), Json(7), Json{"gpt2"}}) {
    EXPECT_EQ(with_commands(run_of(name, {{"text", {"a"}}}), "`MODEL TEXT`"), "`MODEL TEXT`");
  }
}

TEST(Advice, NamesWhatTheRunChanged) {
  const auto change = [](const Json& settings) {
    return with_commands(run_of("m", settings), "`CHANGE --out x`");
  };
  EXPECT_EQ(change({{"normalizer", {"ssmax", "uniform"}}}), "`--normalizer ssmax,uniform --out x`");
  EXPECT_EQ(change({{"pattern", {"window:size=8"}}, {"normalizer", Json::array()}}),
            "`--pattern window:size=8 --out x`");
  EXPECT_EQ(
      change({{"pattern", {"window:size=8", "topk:k=4"}}, {"plan", {"a/plan.json", "b.json"}}}),
      "`--pattern window:size=8,topk:k=4 --plan a/plan.json b.json --out x`");
  EXPECT_EQ(change({{"normalizer", {"a", "b", "c", "d", "e"}}}),
            "`--normalizer a,b,c,d,e --out x`");
  EXPECT_EQ(change({{"normalizer", "softmax"}}), "`CHANGE --out x`");
}

TEST(Advice, NamesAHeadWhereOneIsGiven) {
  const Results run = run_of("m", Json::object());
  EXPECT_EQ(with_commands(run, "`--heads HEAD`", "1.3"), "`--heads 1.3`");
  EXPECT_EQ(with_commands(run, "`--heads HEAD`"), "`--heads HEAD`");
  EXPECT_EQ(command_in("`look MODEL TEXT --heads HEAD` shows it, `other` more", "0.1"),
            "look MODEL --text FILE --heads 0.1");
}

// HEAD is no part of HEADS, AHEAD or HEAD_MASK.
TEST(Advice, FillsInWordsAlone) {
  EXPECT_EQ(with_commands(run_of("m", Json::object()),
                          "HEAD HEADS AHEAD _HEAD HEAD_MASK 1HEAD HEAD2 (HEAD),HEAD", "0.1"),
            "0.1 HEADS AHEAD _HEAD HEAD_MASK 1HEAD HEAD2 (0.1),0.1");
  EXPECT_EQ(with_commands(run_of("MODEL", Json::object()), "MODEL, MODEL"), "MODEL, MODEL");
  EXPECT_EQ(with_commands(run_of("m", Json::object()), "HEAD", "HEAD"), "HEAD");
}

// What the user named is filled in last, and nothing in it is.
TEST(Advice, FillsInNothingInTheNamesOfTheUser) {
  const Results run = run_of("HEAD", {{"text", {"CHANGE"}}, {"pattern", {"MODEL"}}});
  EXPECT_EQ(with_commands(run, "`HEAD MODEL TEXT`", "0.1"), "`0.1 HEAD --text CHANGE`");
}

TEST(Advice, QuotesNamesForAShell) {
  const auto model = [](const std::string& name) {
    return with_commands(run_of(name, Json::object()), "MODEL");
  };
  for (const char* plain : {"gpt2", "a/b_c.d-e", "x:y@z", "50%", "a=b,c+d", "A9"}) {
    EXPECT_EQ(model(plain), plain);
  }
  for (const char* name :
       {"", "my model", "a;b", "$HOME", "a`b", "*", "\"a\"", "a\\b", "~", "a\nb", "\xc3\xa9"}) {
    EXPECT_EQ(model(name), "'" + std::string(name) + "'");
  }
  EXPECT_EQ(model("it's"), "'it'\\''s'");
  EXPECT_EQ(model_and_text({{"text", {"a b", "c"}}}), "`gpt2 --text 'a b' c`");
}

TEST(Advice, FillsInEveryLineOfASummary) {
  Results run = run_of("m", {{"text", {"a"}}});
  SummaryLine of_head, of_none;
  of_head.heads = {"1.2", "0.0"};
  of_head.next = "`MODEL TEXT --heads HEAD`";
  of_none.next = "`MODEL --heads HEAD`";
  run.summary = {of_head, of_none};
  fill_in_commands(run);
  EXPECT_EQ(run.summary[0].next, "`m --text a --heads 1.2`");
  EXPECT_EQ(run.summary[1].next, "`m --heads HEAD`");
}

}  // namespace
}  // namespace headgauge
