// Whatever the task, the seed and the length: a case has the tokens asked for, and its answer
// stands in its source alone, as far back as it says.
#include "headgauge/generators.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <thread>

#include "faults.hpp"
#include "headgauge/files.hpp"
#include "tasks/demo_tokenizer.hpp"
#include "tasks/nouns.hpp"
#include "tasks/phrases.hpp"

namespace headgauge {
namespace {

std::vector<TaskCase> cases_of(const TaskOptions& options) {
  std::vector<TaskCase> cases;
  make_task_cases(options, demo_tokenizer(), kDemoVocabulary,
                  [&](TaskCase one) { cases.push_back(std::move(one)); });
  return cases;
}

std::vector<TaskOptions> every_task() {
  std::vector<TaskOptions> all = {{.task = "keys", .length = 1024, .items = 9}};
  for (const TaskInfo& info : task_infos()) all.push_back({.task = info.name});
  return all;
}

std::string decoded(const std::vector<int>& ids, Index from = 0) {
  return demo_tokenizer().decode(std::span(ids).subspan(static_cast<std::size_t>(from)));
}

std::string error_of(const TaskOptions& options) {
  return thrown<Error>([&] { cases_of(options); });
}

std::string words(Index count) {
  std::string text;
  for (Index i = 0; i < count; ++i) text += fmt::format("{} ", i * 7919 % 10007);
  return text;
}

class EveryTask : public ::testing::TestWithParam<TaskOptions> {};

TEST_P(EveryTask, HasTheLengthAskedFor) {
  TaskOptions options = GetParam();
  options.cases = 7;
  for (options.seed = 0; options.seed < 2; ++options.seed) {
    for (const int more : {0, 1, 2, 3, 57}) {
      options.length = GetParam().length + more;
      const auto cases = cases_of(options);
      ASSERT_EQ(std::ssize(cases), 7);
      for (const TaskCase& one : cases) {
        EXPECT_EQ(one.task, options.task);
        EXPECT_EQ(std::ssize(one.prompt) + std::ssize(one.answer), options.length);
        EXPECT_EQ(one.control.size(), one.prompt.size());
      }
    }
  }
}

TEST_P(EveryTask, HasItsSourceWhereItSays) {
  TaskOptions options = GetParam();
  options.cases = 9;
  for (options.seed = 0; options.seed < 4; ++options.seed) {
    for (const TaskCase& one : cases_of(options)) {
      ASSERT_FALSE(one.source.empty());
      const Index from = std::ssize(one.prompt) - one.distance;
      EXPECT_TRUE(decoded(one.prompt, from).starts_with(one.source))
          << decoded(one.prompt, from) << " does not begin with " << one.source;
      EXPECT_EQ(decoded(one.prompt, from + 1).find(one.source), std::string::npos);
      EXPECT_EQ(decoded(one.control).find(one.source), std::string::npos);
    }
  }
}

TEST_P(EveryTask, HasItsAnswerInTheSourceAlone) {
  TaskOptions options = GetParam();
  options.cases = 9;
  for (options.seed = 0; options.seed < 4; ++options.seed) {
    for (const TaskCase& one : cases_of(options)) {
      EXPECT_EQ(count_of(one.control, one.answer), 0);
      EXPECT_EQ(count_of(one.prompt, one.answer), 1);
      const std::vector<int> source(one.prompt.end() - one.distance, one.prompt.end());
      EXPECT_EQ(count_of(source, one.answer), 1);
      EXPECT_NE(one.source.find(decoded(one.answer)), std::string::npos);
    }
  }
}

TEST_P(EveryTask, SpreadsItsDistancesEvenly) {
  TaskOptions options = GetParam();
  options.cases = 40;
  std::vector<Index> distances;
  for (const TaskCase& one : cases_of(options)) distances.push_back(one.distance);
  if (options.task == "replay") {  // the whole context, always
    EXPECT_EQ(std::set(distances.begin(), distances.end()), std::set{Index{options.length - 64}});
    return;
  }
  const auto spread = [&](std::vector<Index> some, double tolerance) {
    std::ranges::sort(some);
    const double first = static_cast<double>(some.front()), last = static_cast<double>(some.back());
    EXPECT_GT(last - first, 0.5 * options.length);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const double even =
          first + (last - first) * static_cast<double>(i) / static_cast<double>(some.size() - 1);
      EXPECT_NEAR(static_cast<double>(some[i]), even, tolerance * options.length);
    }
  };
  spread(distances, 0.05);
  // Those that come one after another, and every fourth.
  spread({distances.begin(), distances.begin() + 10}, 0.15);
  std::vector<Index> fourth;
  for (std::size_t i = 0; i < distances.size(); i += 4) fourth.push_back(distances[i]);
  spread(fourth, 0.15);
}

TEST_P(EveryTask, IsTheSameForASeed) {
  TaskOptions options = GetParam();
  options.cases = 4;
  const auto cases = cases_of(options);
  EXPECT_EQ(cases, cases_of(options));
  EXPECT_NE(cases[0].prompt, cases[1].prompt);
  options.seed = 1;
  EXPECT_NE(cases, cases_of(options));
}

INSTANTIATE_TEST_SUITE_P(Tasks, EveryTask, ::testing::ValuesIn(every_task()), [](const auto& one) {
  return fmt::format("{}{}", one.param.task, one.param.items);
});

// What another machine must write, too.
TEST(TaskCases, HaveTheseBytes) {
  std::string ids;
  for (const TaskInfo& info : task_infos()) {
    for (const TaskCase& one : cases_of({.task = info.name, .cases = 3, .seed = 5})) {
      ids += nlohmann::json({one.prompt, one.answer, one.control, one.distance}).dump();
    }
  }
  EXPECT_EQ(text_sha256(ids), "28e3c7d5d129eb66721ac3b2e7673933248af1a8e8878f7cffadfb226fa78bf5");
}

// The hand-made tokenizer puts a space before a text, and "a" and "b" that meet are one token.
TEST(TaskCases, HaveTheTokensOfTheirText) {
  const std::string text = "a cab, a bab; " + words(400) + "\n";
  for (const char* task : {"passkey", "keys", "replay"}) {
    for (const Texts& texts : {Texts(), Texts{text_of(text + text + text)}}) {
      const TaskOptions options = {.task = task, .length = 700, .cases = 12, .text = texts};
      make_task_cases(options, by_hand::tokenizer(), by_hand::kVocabulary, [&](TaskCase one) {
        std::vector<int> whole = one.prompt, controlled = one.control;
        append(whole, one.answer);
        append(controlled, one.answer);
        EXPECT_EQ(one.prompt, by_hand::tokens(by_hand::text(one.prompt))) << task;
        EXPECT_EQ(whole, by_hand::tokens(by_hand::text(whole))) << task;
        EXPECT_EQ(controlled, by_hand::tokens(by_hand::text(controlled))) << task;
        EXPECT_EQ(std::ssize(whole), 700);
        EXPECT_EQ(one.control.size(), one.prompt.size());
        if (task != std::string("replay")) {
          EXPECT_EQ(one.answer.front(), by_hand::kSpace);
        }
      });
    }
  }
}

// A character of the text is three tokens, a comma is one.
TEST(TaskCases, CutNoCharacterInTwo) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    const int code = 0x4E00 + i * 37 % 2000;
    for (const int byte : {0xE0 | code >> 12, 0x80 | (code >> 6 & 0x3F), 0x80 | (code & 0x3F)})
      text += static_cast<char>(byte);
    if (static_cast<std::uint32_t>(i) * 2654435761U >> 30 == 0) text += ',';
  }
  ASSERT_GT(std::ssize(demo_tokenizer().encode(text)), 5000);
  for (const TaskInfo& info : task_infos()) {
    for (const TaskCase& one : cases_of({.task = info.name, .cases = 3, .text = {text_of(text)}})) {
      EXPECT_EQ(std::ssize(one.prompt) + std::ssize(one.answer), 512);
      for (const auto& ids : {one.prompt, one.answer, one.control}) {
        EXPECT_EQ(decoded(ids).find("\xEF\xBF\xBD"), std::string::npos) << info.name;
      }
    }
  }
}

// Two line breaks are one token at the end of a text and two before a word, so an answer that ends
// with them is not that of its source.
TEST(TaskCases, ReplayTheTokensOfTheirSource) {
  auto file =
      nlohmann::json::parse(read_text_file(testing::source_path("demo/model/tokenizer.json")));
  const std::string mark = "\u010A";  // a line break
  file["model"]["vocab"][mark + mark] = kDemoVocabulary;
  file["model"]["merges"].push_back({mark, mark});
  const Tokenizer tokenizer = made_of(file);
  ASSERT_EQ(tokenizer.encode("\n\n"), std::vector<int>{kDemoVocabulary});
  std::string text;
  for (std::size_t i = 0; i < 1500; ++i) text += nouns()[i * 31 % nouns().size()] + "\n\n";
  make_task_cases({.task = "replay", .cases = 30, .text = {text_of(text)}}, tokenizer,
                  kDemoVocabulary + 1, [&](const TaskCase& one) {
                    EXPECT_EQ(count_of(one.prompt, one.answer), 1) << tokenizer.decode(one.answer);
                    EXPECT_EQ(std::ssize(one.answer), 56);
                  });
}

TEST(TaskCases, TakeAnotherPieceOfTheTextEach) {
  const TaskOptions options = {.task = "passkey", .cases = 20, .text = {text_of(words(3000))}};
  const std::vector<int> text = demo_tokenizer().encode(words(3000), false);
  std::set<std::vector<int>> beginnings;
  for (const TaskCase& one : cases_of(options)) {
    const auto hay = one.distance > 400 ? one.prompt.end() - 60 : one.prompt.begin();
    const std::vector<int> piece(hay, hay + 20);
    EXPECT_EQ(count_of(text, piece), 1);
    beginnings.insert(piece);
  }
  EXPECT_EQ(beginnings.size(), 20u);
}

TEST(TaskCases, TakeSeveralTextsInTurns) {
  const TaskOptions options = {
      .task = "passkey",
      .cases = 4,
      .text = {ids_of(std::vector<int>(600, 7)), ids_of(std::vector<int>(600, 9))}};
  const auto cases = cases_of(options);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GT(std::ranges::count(cases[i].prompt, i % 2 == 0 ? 7 : 9), 400);
    EXPECT_EQ(std::ranges::count(cases[i].prompt, i % 2 == 0 ? 9 : 7), 0);
  }
}

TEST(TaskCases, HaveAsManyItemsAsAskedFor) {
  for (const int items : {1, 2, 6}) {
    const TaskCase keys = cases_of({.task = "keys", .cases = 1, .items = items}).front();
    const std::string text = decoded(keys.prompt);
    Index facts = 0;
    for (auto at = text.find("The special number"); at != text.npos;
         at = text.find("The special number", at + 1)) {
      ++facts;
    }
    EXPECT_EQ(facts, items + 1);  // with the beginning of the answer
  }
}

TEST(TaskCases, HaveAnAnswerThatStandsInOnePlaceOnly) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += " again and";
  EXPECT_NE(error_of({.task = "replay", .cases = 1, .text = {text_of(text)}})
                .find("with the answer in one place only, found none in 1000 draws"),
            std::string::npos);
}

TEST(TaskCases, AreRefusedInOneLine) {
  EXPECT_EQ(error_of({.task = "passkeys"}),
            "task: expected one of copy, passkey, keys, replay, repeats, found "
            "\"passkeys\" (did you mean passkey?); correct the name");
  EXPECT_EQ(error_of({.task = "copy", .items = 3}),
            "TaskOptions::items: expected the task \"keys\", found copy; leave one of the "
            "two out");
  EXPECT_EQ(
      error_of({.task = "copy", .length = 51}),
      "the task copy: expected a length of at least 52 tokens, found 51; give a longer length");
  EXPECT_EQ(error_of({.task = "replay", .length = 128}),
            "the task replay: expected a length of at least 129 tokens, found 128; give a longer "
            "length");
  EXPECT_EQ(error_of({.task = "repeats", .length = 64}),
            "the task repeats: expected a length of at least 65 tokens, found 64; give a longer "
            "length");
  EXPECT_NE(
      error_of({.task = "keys", .length = 60}).find("the task keys: expected a length of at "),
      std::string::npos);
  EXPECT_NE(error_of({.task = "passkey", .text = {text_of("too short")}})
                .find("text: expected a text of at least "),
            std::string::npos);
}

// The text of the words 0, 1, 2 ... says where a token is from.
TEST(TaskCases, ReplayTheBeginningOfAPieceOfTheText) {
  std::vector<int> text(3000);
  std::iota(text.begin(), text.end(), 300);
  const TaskOptions options = {.task = "replay", .length = 400, .cases = 5, .text = {ids_of(text)}};
  std::set<int> beginnings;
  for (const TaskCase& one : cases_of(options)) {
    const int begin = one.prompt.front();
    beginnings.insert(begin);
    const Index said = 400 - 64;
    for (Index t = 0; t < said; ++t) {
      EXPECT_EQ(one.prompt[t], begin + t);
      // Its control has the tokens behind the piece first.
      EXPECT_EQ(one.control[t], t < 64 ? begin + said + t : begin + t);
    }
    ASSERT_EQ(std::ssize(one.prompt), said + 8);
    for (Index t = 0; t < 8; ++t) EXPECT_EQ(one.prompt[said + t], begin + t);
    EXPECT_TRUE(std::equal(one.prompt.end() - 8, one.prompt.end(), one.control.end() - 8));
    ASSERT_EQ(std::ssize(one.answer), 56);
    for (Index t = 0; t < 56; ++t) EXPECT_EQ(one.answer[t], begin + 8 + t);
  }
  EXPECT_EQ(beginnings.size(), 5u);
}

TEST(TaskCases, RepeatRandomTokensInAText) {
  std::vector<int> text(2000, 7);
  const TaskOptions options = {
      .task = "repeats", .length = 300, .cases = 20, .text = {ids_of(text)}};
  std::set<int> drawn;
  for (const TaskCase& one : cases_of(options)) {
    const Index said = 300 - 32, first = said - one.distance;
    ASSERT_EQ(std::ssize(one.prompt), said + 1);
    std::vector<int> whole = one.prompt;
    append(whole, one.answer);
    std::set<int> passage;
    for (Index t = 0; t < 300; ++t) {
      const bool is_first = first <= t && t < first + 32;
      if (t >= said) {
        EXPECT_EQ(whole[t], whole[t - one.distance]);
      } else if (is_first) {
        EXPECT_TRUE(passage.insert(whole[t]).second) << "said twice in a row";
      } else {
        EXPECT_EQ(whole[t], 7);
      }
      if (t < said) {
        EXPECT_EQ(one.control[t], 7);
      }
    }
    EXPECT_EQ(one.control.back(), one.prompt.back());
    drawn.insert(passage.begin(), passage.end());
  }
  EXPECT_GT(drawn.size(), 400u) << "other tokens each time";
}

TEST(TaskCases, StopWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  const TaskOptions options = {.task = "copy"};
  EXPECT_THROW(
      make_task_cases(
          options, demo_tokenizer(), kDemoVocabulary, [](const TaskCase&) {}, stop.get_token()),
      InterruptedError);
}

// The first case fits, and no draw of the second one does.
TEST(TaskCases, StopWhileTheyAreDrawn) {
  std::string same;
  for (int i = 0; i < 4000; ++i) same += " tide";
  const TaskOptions options = {
      .task = "replay", .length = 1024, .cases = 2, .text = {text_of(words(3000)), text_of(same)}};
  EXPECT_NE(error_of(options).find("case 2 of replay: expected 1024 tokens"), std::string::npos)
      << error_of(options);
  std::stop_source stop;
  std::atomic<bool> is_drawn = false;
  std::thread stopper([&] {
    is_drawn.wait(false);
    stop.request_stop();
  });
  const auto take = [&](const TaskCase&) {
    is_drawn = true;
    is_drawn.notify_one();
  };
  EXPECT_THROW(make_task_cases(options, demo_tokenizer(), kDemoVocabulary, take, stop.get_token()),
               InterruptedError);
  stopper.join();
}

TEST(Phrases, AreTokenizedAsTheyAreBehindOtherText) {
  const auto whole = demo_tokenizer().encode("It is 71432.", false);
  auto parts = demo_tokenizer().encode("It is", false);
  append(parts, tokens_after(demo_tokenizer(), "is", " 71432."));
  EXPECT_EQ(parts, whole);
  EXPECT_EQ(count_of({1, 1, 1, 2, 1, 1}, {1, 1}), 3);
}

// A decoder that takes the space from a word that stands alone does not make it a part of a word.
TEST(Phrases, AreWordsWithTheSpaceThatADecoderTakes) {
  nlohmann::json vocabulary = nlohmann::json::object();
  std::vector<int> spaced;
  for (int id = 0; id < 600; ++id) {
    const std::string letters = {static_cast<char>('a' + id / 52),
                                 static_cast<char>('a' + id / 2 % 26)};
    vocabulary[(id % 2 == 0 ? "\u2581" : "") + letters] = id;
    if (id % 2 == 0) spaced.push_back(id);
  }
  const nlohmann::json space = {
      {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}};
  const nlohmann::json file = {
      {"version", "1.0"},
      {"pre_tokenizer", space},
      {"decoder", space},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "aa"}}}};
  EXPECT_EQ(word_tokens(made_of(file), 600, WordParts::no), spaced);
}

}  // namespace
}  // namespace headgauge
