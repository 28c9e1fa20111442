// Reads and writes task files, good and bad ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "headgauge/generators.hpp"
#include "headgauge/tasks.hpp"
#include "tasks/demo_tokenizer.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

class TaskFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "my.task.jsonl") {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  std::vector<TaskCase> read(const std::string& path, Index most = 0) {
    std::vector<TaskCase> cases;
    left_out_ = read_task_cases(
        path, {.tokenizer = &demo_tokenizer(), .vocabulary = kDemoVocabulary, .most = most},
        [&](TaskCase one) { cases.push_back(std::move(one)); });
    return cases;
  }
  TaskCase read_line(const std::string& line) {
    const auto cases = read(write(line));
    EXPECT_EQ(cases.size(), 1u);
    return cases.front();
  }
  // Returns what the error says behind the path.
  std::string fault_of(const std::string& text, const TaskReading& reading) {
    const std::string path = write(text);
    try {
      read_task_cases(path, reading, [](const TaskCase&) {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(path)) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos);
      return message.substr(path.size());
    }
    return "no error";
  }
  std::string fault_of(const std::string& text) {
    return fault_of(text, {.tokenizer = &demo_tokenizer(), .vocabulary = kDemoVocabulary});
  }

  testing::TemporaryFolder folder_{"tasks"};
  Index left_out_ = 0;
};

TEST_F(TaskFile, OfTextIsTokenizedAsOne) {
  const TaskCase one = read_line(R"({"prompt": "The pass key is", "answer": " 71432"})");
  EXPECT_EQ(one.task, "my.task");
  EXPECT_EQ(one.prompt, demo_tokenizer().encode("The pass key is"));
  EXPECT_EQ(one.answer, demo_tokenizer().encode(" 71432"));
  EXPECT_EQ(one.line, 1);
  EXPECT_EQ(one.distance, 0);
  EXPECT_TRUE(one.control.empty());
}

class TaskFileByHand : public TaskFile {
 protected:
  // Returns the cases that are not left out.
  std::vector<TaskCase> read_lines(const std::string& lines) {
    std::vector<TaskCase> cases;
    left_out_ = read_task_cases(write(lines), kReading,
                                [&](TaskCase one) { cases.push_back(std::move(one)); });
    return cases;
  }
  const TaskReading kReading = {.tokenizer = &by_hand::tokenizer(),
                                .vocabulary = by_hand::kVocabulary};
};

TEST_F(TaskFileByHand, PutsNoSpaceBeforeAnAnswer) {
  const auto cases =
      read_lines(R"({"prompt": "x y z", "answer": " yes", "control": "q q q", "source": "y"})"
                 "\n"
                 R"({"prompt": "x =", "answer": "5"})");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].prompt, by_hand::tokens("x y z"));
  EXPECT_EQ(cases[0].control, by_hand::tokens("q q q"));
  EXPECT_EQ(cases[0].answer, (std::vector<int>{by_hand::kSpace, by_hand::id_of('y'),
                                               by_hand::id_of('e'), by_hand::id_of('s')}));
  EXPECT_EQ(cases[0].distance, 3);
  EXPECT_EQ(cases[1].answer, std::vector<int>{by_hand::id_of('5')});
  EXPECT_EQ(left_out_, 0);
}

TEST_F(TaskFileByHand, LeavesOutAnswersWithoutTokensOfTheirOwn) {
  const std::string good = R"({"prompt": "x", "answer": "bc"})", line = "\n";
  const std::string merged = R"({"prompt": "xa", "answer": "bc"})";  // "ab" is one token
  const std::string merged_control = R"({"prompt": "x", "answer": "bc", "control": "a"})";
  const auto cases = read_lines(good + line + merged + line + merged_control + line + good);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1].line, 4);
  EXPECT_EQ(cases[1].answer, (std::vector<int>{by_hand::id_of('b'), by_hand::id_of('c')}));
  EXPECT_EQ(left_out_, 2);
  EXPECT_NE(fault_of(merged, kReading).find("found none in 1 case; "), std::string::npos);
  EXPECT_EQ(fault_of(merged + line + merged_control, kReading),
            ": expected answers that begin with a token of their own, found none in 2 cases; begin "
            "each answer at a word, with the space before it");
}

TEST_F(TaskFileByHand, TakesAnEmptyControlForNone) {
  const auto cases = read_lines(R"({"prompt": "x", "answer": " y", "control": ""})");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_TRUE(cases[0].control.empty());
}

TEST_F(TaskFile, OfOthersIsRead) {
  const TaskCase ruler = read_line(
      R"({"index": 0, "input": "One is 12. Two is 34.", "outputs": ["12", "34"], "length": 9, )"
      R"("answer_prefix": " They are"})");
  EXPECT_EQ(demo_tokenizer().decode(ruler.prompt), "One is 12. Two is 34. They are");
  EXPECT_EQ(demo_tokenizer().decode(ruler.answer), "12, 34");
  const TaskCase bench = read_line(
      R"({"context": "Ada met Bo.", "input": "Who met Bo?", "answers": ["Ada", "She"], "_id": "x"})");
  EXPECT_EQ(demo_tokenizer().decode(bench.prompt), "Ada met Bo.\n\nWho met Bo?");
  EXPECT_EQ(demo_tokenizer().decode(bench.answer), "Ada");
}

TEST_F(TaskFile, FindsTheLastOccurrenceOfTheSource) {
  const TaskCase one =
      read_line(R"({"prompt": "The key is 5. The key is 5. So say: the key is", "answer": " 5", )"
                R"("source": "key is 5", "control": "Nothing. So say: the key is"})");
  const std::vector<int> tail = demo_tokenizer().encode(" key is 5. So say: the key is", false);
  EXPECT_EQ(one.distance, std::ssize(tail));
  EXPECT_EQ(one.control, demo_tokenizer().encode("Nothing. So say: the key is"));
  // A source that begins with its token, and one that begins within it.
  EXPECT_EQ(read_line(R"({"prompt": "a key b", "answer": " b", "source": " key"})").distance,
            read_line(R"({"prompt": "a key b", "answer": " b", "source": "key"})").distance);
  EXPECT_EQ(read_line(R"({"prompt": "a", "answer": " b", "source": "elsewhere"})").distance, 0);
  EXPECT_EQ(
      read_line(R"({"prompt": "a b", "answer": " b", "source": "a", "distance": 1})").distance, 1);
}

TEST_F(TaskFile, OfIdsIsTakenAsItIs) {
  const TaskCase one = read_line(
      R"({"prompt": [5, 6, 7], "answer": [4095], "control": [1, 2, 3], "distance": 3, "source": "x"})");
  EXPECT_EQ(one, (TaskCase{.task = "my.task",
                           .prompt = {5, 6, 7},
                           .answer = {4095},
                           .control = {1, 2, 3},
                           .source = "x",
                           .distance = 3,
                           .line = 1}));
}

TEST_F(TaskFile, MayHaveBlankLinesAMarkAndWindowsEnds) {
  const auto cases =
      read(write("\xEF\xBB\xBF{\"prompt\": \"a\", \"answer\": \" b\"}\r\n\r\n  \n"
                 "{\"prompt\": \"c\", \"answer\": \" d\"}"));
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1].line, 4);
}

TEST_F(TaskFile, GivesCasesSpreadOverTheFile) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += fmt::format("{{\"prompt\": [{}], \"answer\": [1]}}\n", i);
  const std::string path = write(text);
  std::vector<int> ids;
  for (const TaskCase& one : read(path, 4)) ids.push_back(one.prompt.front());
  EXPECT_EQ(ids, (std::vector<int>{125, 375, 625, 875}));
  EXPECT_EQ(read(path, 2000).size(), 1000u);
  EXPECT_EQ(read(path, 1000).back().line, 1000);
}

// Kilobytes of a line of /proc/self/status.
Index status_of(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    Index kilobytes = 0;
    if (word == key && in >> kilobytes) return kilobytes;
  }
  return 0;
}

TEST_F(TaskFile, OfAMillionCasesIsStreamed) {
  const std::string path = folder_ / "many.jsonl";
  {
    std::ofstream out(path);
    for (int i = 0; i < 1000000; ++i)
      out << R"({"prompt": [1, 2, 3], "answer": [4]})"
          << "\n";
  }
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak is the present size from here on
  const Index before = status_of("VmHWM:");
  const auto cases = read(path, 100);
  EXPECT_EQ(cases.size(), 100u);
  EXPECT_LT(status_of("VmHWM:") - before, 4000);  // a tenth of the file
}

TEST_F(TaskFile, IsCheckedInTheChosenLinesAlone) {
  const std::string good = R"({"prompt": [1], "answer": [1]})";
  const std::string text = "nonsense\n" + good + "\nnonsense\n";
  EXPECT_EQ(read(write(text), 1).front().line, 2);
  EXPECT_NE(fault_of(text).find(" line 1: expected a JSON object"), std::string::npos);
}

TEST_F(TaskFile, ThatIsWrittenIsReadAgain) {
  const std::string path = folder_ / "made.jsonl";
  std::vector<TaskCase> made;
  {
    TaskWriter writer(path, demo_tokenizer());
    make_task_cases({.task = "keys", .cases = 5}, demo_tokenizer(), kDemoVocabulary,
                    [&](const TaskCase& one) {
                      writer.write(one);
                      made.push_back(one);
                      made.back().line = std::ssize(made);
                    });
    EXPECT_FALSE(testing::exists(path));
    writer.commit();
  }
  EXPECT_EQ(read(path), made);
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  const auto first = nlohmann::json::parse(line);
  EXPECT_EQ(first["tokenizer"], demo_tokenizer().sha256());
  EXPECT_EQ(first["answer_text"], demo_tokenizer().decode(made.front().answer));
  EXPECT_EQ(first["prompt_text"], demo_tokenizer().decode(made.front().prompt));
}

TEST_F(TaskFileByHand, HasTheTextsThatGiveItsIdsAgain) {
  const std::string path = folder_ / "made.jsonl";
  TaskWriter writer(path, by_hand::tokenizer());
  TaskCase one;
  one.prompt = by_hand::tokens("x y");
  one.answer = {by_hand::kSpace, by_hand::id_of('5')};
  writer.write(one);
  one.prompt = {by_hand::kStart, by_hand::kSpace, by_hand::id_of('a')};
  one.answer = {by_hand::id_of('b')};  // "ab" is one token
  writer.write(one);
  writer.commit();
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  const auto first = nlohmann::json::parse(line);
  EXPECT_EQ(first["prompt_text"], "x y");
  EXPECT_EQ(first["answer_text"], " 5");
  std::getline(in, line);
  EXPECT_FALSE(nlohmann::json::parse(line).contains("prompt_text"));
  EXPECT_FALSE(nlohmann::json::parse(line).contains("answer_text"));
}

TEST_F(TaskFile, ThatIsBadIsRefusedByLine) {
  const std::string good = "{\"prompt\": \"a\", \"answer\": \"b\"}\n";
  const std::map<std::string, std::string> faults = {
      {"[1]", ": expected a JSON object, found a list of 1"},
      {"7", ": expected a JSON object, found 7"},
      {"{\"prompt\": \"a\"", ": expected a JSON object, found the end"},
      {"{\"prompt\": \"a\xFF\", \"answer\": \"b\"}", "found text that is not UTF-8 at byte "},
      {std::string(100000, '['), "found values nested deeper than 64"},
      {R"({"answer": "b"})", ": expected a key \"prompt\" or \"input\", found none of them"},
      {R"({"prompt": "a"})",
       ": expected a key \"answer\", \"outputs\" or \"answers\", found none of them"},
      {R"({"prompt": "", "answer": "b"})",
       " key \"prompt\": expected a prompt, found an empty text"},
      {R"({"prompt": "a", "answer": ""})",
       " key \"answer\": expected an answer, found an empty text"},
      {R"({"prompt": [1], "answer": []})",
       " key \"answer\": expected an answer, found an empty list"},
      {R"({"prompt": [], "answer": [1]})",
       " key \"prompt\": expected a prompt, found an empty list"},
      {R"({"prompt": 5, "answer": "b"})", " key \"prompt\": expected a text, found 5"},
      {R"({"prompt": "a", "outputs": []})",
       " key \"outputs\": expected a list of texts, found an empty list"},
      {R"({"prompt": "a", "outputs": ["x", 3]})",
       " key \"outputs\": expected a list of texts, found 3 in it"},
      {R"({"prompt": "a", "answers": 3})", " key \"answers\": expected a list of texts, found 3"},
      {R"({"prompt": "a", "answer": [1]})",
       " key \"answer\": expected a text, because the prompt is a text, found a list of 1"},
      {R"({"prompt": [1], "answer": "b"})",
       " key \"answer\": expected a list of token ids in \"answer\", because the prompt is one, "
       "found \"b\""},
      {R"({"prompt": [1], "outputs": ["b"]})", " key \"outputs\": expected a list of token ids in"},
      {R"({"prompt": "a", "answer": "b", "control": [1]})",
       " key \"control\": expected a text, because the prompt is a text, found a list of 1"},
      {R"({"prompt": [1], "answer": [2], "control": "a"})",
       " key \"control\": expected a list of token ids in"},
      {R"({"prompt": [1, 2.5], "answer": [1]})",
       " key \"prompt\": expected a list of token ids, found 2.5 in it"},
      {R"({"prompt": [1, "a"], "answer": [1]})",
       " key \"prompt\": expected a list of token ids, found \"a\" in it"},
      {R"({"prompt": [1, -2], "answer": [1]})",
       " key \"prompt\": expected ids from 0 to 4095, found -2 at place 2"},
      {R"({"prompt": [1], "answer": [4096]})",
       " key \"answer\": expected ids from 0 to 4095, found 4096 at place 1"},
      {R"({"prompt": [18446744073709551615], "answer": [1]})",
       " key \"prompt\": expected ids from 0 to 4095, found 18446744073709551615 at place 1"},
      {R"({"prompt": [1], "answer": [1], "distance": 2})",
       " key \"distance\": expected a whole number from 0 to 1, the tokens of the prompt, found 2"},
      {R"({"prompt": [1], "answer": [1], "distance": -1})", " key \"distance\": expected"},
      {R"({"prompt": [1], "answer": [1], "source": 3})",
       " key \"source\": expected a text, found 3"},
      {R"({"prompt": [1], "answer": [1], "task": {}})",
       " key \"task\": expected a text, found an object"},
      {R"({"prompt": [1], "answer": [1], "tokenizer": "0123"})",
       " key \"tokenizer\": expected the sum of the model's tokenizer, "},
  };
  for (const auto& [line, expected] : faults) {
    const std::string message = fault_of(good + line + "\n" + good);
    EXPECT_TRUE(message.starts_with(" line 2")) << message;
    EXPECT_NE(message.find(expected), std::string::npos) << message << "\nexpected " << expected;
  }
}

TEST_F(TaskFile, WithoutACaseIsRefused) {
  for (const char* text : {"", "\n \r\n"}) {
    EXPECT_EQ(
        fault_of(text),
        ": expected a case, found an empty file; give one case a line, as docs/tasks.md says");
    EXPECT_EQ(
        fault_of(text, {.tokenizer = &demo_tokenizer(), .vocabulary = kDemoVocabulary, .most = 3}),
        ": expected a case, found an empty file; give one case a line, as docs/tasks.md says");
  }
}

TEST_F(TaskFile, OfTextNeedsATokenizer) {
  EXPECT_EQ(
      fault_of(R"({"prompt": "a", "answer": "b"})", {.vocabulary = kDemoVocabulary}),
      " line 1: expected token ids, because the model has no tokenizer, found texts; write ids "
      "with the model's own tokenizer");
  EXPECT_EQ(fault_of(R"({"prompt": [1], "answer": [2], "tokenizer": "x"})",
                     {.vocabulary = kDemoVocabulary}),
            "no error");
}

TEST_F(TaskFile, HasLinesOfBoundedLength) {
  const std::string line((std::size_t{16} << 20) + 1, ' ');
  EXPECT_EQ(fault_of("\n" + line),
            " line 2: expected at most 16.8 MB, found more; give one case a line, as docs/tasks.md "
            "says");
  // A tokenizer takes 130 times the memory of a text.
  const std::string prompt(std::size_t{4} << 20, 'a');
  EXPECT_EQ(fault_of(R"({"prompt": ")" + prompt + R"(", "answer": " b"})"),
            " line 1 key \"prompt\": expected texts of at most 4194304 bytes, found 4194306; write "
            "one case a line, as docs/tasks.md says");
}

}  // namespace
}  // namespace headgauge
