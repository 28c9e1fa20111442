#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "base/utf8.hpp"
#include "headgauge/memory.hpp"
#include "headgauge/tasks.hpp"
#include "tasks/case_texts.hpp"

namespace headgauge {
namespace {

using nlohmann::json;

// Reads one line of a task file.
class CaseParser {
 public:
  // `path` names the file in messages and gives the default name of its task.
  CaseParser(const std::string& path, const TaskReading& reading);

  // Returns none for a text whose answer has no tokens of its own (read_task_cases()). Throws
  // BadInputError, which names file and line.
  std::optional<TaskCase> parse(std::string_view text, Index line);

 private:
  const std::string& path_;
  const TaskReading& reading_;
  std::string task_;
  std::string sha256_;  // of the tokenizer, once a line has asked for it
};

constexpr const char* kOneCase = "write one case a line, as docs/tasks.md says";

// One line as an object whose values are requested by key.
class Line {
 public:
  Line(std::string_view text, std::string where)
      : where_(std::move(where)), object_(parse_json_object(text, where_, kOneCase)) {}

  const std::string& where() const { return where_; }

  // Returns the value of a key; null if it is missing or null.
  const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  [[noreturn]] void refuse(const char* key, std::string_view expected, std::string_view found,
                           std::string_view advice = kOneCase) const {
    throw BadInputError(fault(fmt::format("{} key \"{}\"", where_, key), expected, found, advice));
  }

  // Returns the text of a key; empty if it is missing.
  std::string text(const char* key) const {
    const json* const value = find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) refuse(key, "a text", describe(*value));
    return value->get<std::string>();
  }

  // Returns the texts of a list, which is not empty.
  std::vector<std::string> texts(const char* key) const {
    const json& list = *find(key);
    if (!list.is_array() || list.empty()) {
      refuse(key, "a list of texts", list.is_array() ? "an empty list" : describe(list));
    }
    std::vector<std::string> texts;
    for (const json& item : list) {
      if (!item.is_string()) refuse(key, "a list of texts", describe(item) + " in it");
      texts.push_back(item.get<std::string>());
    }
    return texts;
  }

  // Returns the token ids of a list.
  std::vector<int> ids(const char* key, Index vocabulary) const {
    const json& list = *find(key);
    std::vector<int> ids;
    ids.reserve(list.size());
    for (const json& item : list) {
      if (!item.is_number_integer()) refuse(key, "a list of token ids", describe(item) + " in it");
      const bool fits = item.is_number_unsigned()
                            ? item.get<std::uint64_t>() < static_cast<std::uint64_t>(vocabulary)
                            : item.get<std::int64_t>() >= 0 && item.get<Index>() < vocabulary;
      if (!fits) {
        refuse(key, fmt::format("ids from 0 to {}", vocabulary - 1),
               fmt::format("{} at place {}", item.dump(), ids.size() + 1),
               "use the model's own tokenizer");
      }
      ids.push_back(item.get<int>());
    }
    return ids;
  }

 private:
  std::string where_;
  json object_;
};

// Returns the first of the keys that the line has; null if it has none.
const char* first_of(const Line& line, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (line.find(key) != nullptr) return key;
  }
  return nullptr;
}

const char* required(const Line& line, const char* expected,
                     std::initializer_list<const char*> keys) {
  if (const char* const key = first_of(line, keys)) return key;
  throw BadInputError(fault(line.where(), expected, "none of them", kOneCase));
}

// Returns the answer of a line whose prompt is a text.
std::string answer_text(const Line& line, const char* key) {
  if (line.find(key)->is_string()) return line.text(key);
  if (std::string_view(key) == "answer") {
    line.refuse(key, "a text, because the prompt is a text", describe(*line.find(key)));
  }
  const std::vector<std::string> texts = line.texts(key);
  if (std::string_view(key) == "answers") return texts.front();
  std::string joined;
  for (const std::string& text : texts) joined += (&text == texts.data() ? "" : ", ") + text;
  return joined;
}

// Reads a line whose prompt is a text.
class TextCase {
 public:
  TextCase(const Line& line, const TaskReading& reading) : line_(line), reading_(reading) {
    if (reading.tokenizer != nullptr) return;
    throw BadInputError(fault(line.where(), "token ids, because the model has no tokenizer",
                              "texts", "write ids with the model's own tokenizer"));
  }

  // Returns false if the answer has no tokens of its own (tokenize_case()).
  bool fill(TaskCase& one, const char* prompt_key, const char* answer_key) const {
    CaseTexts texts{.prompt = prompt_text(prompt_key), .answer = answer_text(line_, answer_key)};
    if (texts.prompt.empty()) line_.refuse(prompt_key, "a prompt", "an empty text");
    if (texts.answer.empty()) line_.refuse(answer_key, "an answer", "an empty text");
    if (const json* const control = line_.find("control")) {
      if (!control->is_string()) {
        line_.refuse("control", "a text, because the prompt is a text", describe(*control));
      }
      if (!line_.text("control").empty()) texts.control = line_.text("control");
    }
    const std::size_t longest = std::max(texts.prompt.size(), texts.control.value_or("").size());
    if (longest + texts.answer.size() > kLongestPrompt) {
      line_.refuse(prompt_key, fmt::format("texts of at most {} bytes", kLongestPrompt),
                   std::to_string(longest + texts.answer.size()));
    }
    const bool apart = tokenize_case(texts, *reading_.tokenizer, one);
    check(prompt_key, one.prompt);
    check(answer_key, one.answer);
    check("control", one.control);
    if (apart && one.answer.empty()) line_.refuse(answer_key, "an answer", "a text without tokens");
    return apart;
  }

 private:
  // LongBench has the context of a question apart, RULER the beginning of the answer.
  std::string prompt_text(const char* key) const {
    const std::string text = line_.text(key);
    const std::string context = line_.text("context");
    return context + (context.empty() ? "" : "\n\n") + text + line_.text("answer_prefix");
  }

  void check(const char* key, const std::vector<int>& ids) const {
    check_ids(ids, reading_.vocabulary, fmt::format("{} key \"{}\"", line_.where(), key));
  }

  const Line& line_;
  const TaskReading& reading_;
};

// Reads a line whose prompt is a list of token ids.
void fill_ids(TaskCase& one, const Line& line, const TaskReading& reading, const char* prompt_key,
              const char* answer_key) {
  const auto ids = [&](const char* key) {
    if (!line.find(key)->is_array() || std::string_view(key) == "outputs" ||
        std::string_view(key) == "answers") {
      line.refuse(key, "a list of token ids in \"answer\", because the prompt is one",
                  describe(*line.find(key)));
    }
    return line.ids(key, reading.vocabulary);
  };
  one.prompt = ids(prompt_key);
  one.answer = ids(answer_key);
  if (one.prompt.empty()) line.refuse(prompt_key, "a prompt", "an empty list");
  if (one.answer.empty()) line.refuse(answer_key, "an answer", "an empty list");
  if (line.find("control") != nullptr) one.control = ids("control");
}

// Sets the distance that the line gives.
void take_distance(TaskCase& one, const Line& line) {
  const json* const value = line.find("distance");
  if (value == nullptr) return;
  const Index most = std::ssize(one.prompt);
  const bool fits = value->is_number_unsigned() &&
                    value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits) {
    line.refuse("distance",
                fmt::format("a whole number from 0 to {}, the tokens of the prompt", most),
                describe(*value));
  }
  one.distance = value->get<Index>();
}

CaseParser::CaseParser(const std::string& path, const TaskReading& reading)
    : path_(path), reading_(reading), task_(std::filesystem::path(path).stem().string()) {}

std::optional<TaskCase> CaseParser::parse(std::string_view text, Index number) {
  const Line line(text, fmt::format("{} line {}", path_, number));
  TaskCase one;
  one.line = number;
  one.task = line.text("task");
  if (one.task.empty()) one.task = task_;
  one.source = line.text("source");
  const char* const prompt = required(line, "a key \"prompt\" or \"input\"", {"prompt", "input"});
  const char* const answer = required(line, "a key \"answer\", \"outputs\" or \"answers\"",
                                      {"answer", "outputs", "answers"});
  if (line.find(prompt)->is_array()) {
    fill_ids(one, line, reading_, prompt, answer);
    const std::string made_by = line.text("tokenizer");
    if (!made_by.empty() && reading_.tokenizer != nullptr) {
      if (sha256_.empty()) sha256_ = reading_.tokenizer->sha256();
      if (made_by != sha256_) {
        line.refuse("tokenizer", "the sum of the model's tokenizer, " + sha256_, in_quotes(made_by),
                    "make the file again for this model");
      }
    }
  } else if (!TextCase(line, reading_).fill(one, prompt, answer)) {
    return std::nullopt;
  }
  take_distance(one, line);
  return one;
}

constexpr const char* kNoCase = "give one case a line, as docs/tasks.md says";

// Joins the pieces of a file into lines and passes on those that are not blank, with their numbers
// from 1.
class Lines {
 public:
  using Take = std::function<void(std::string_view text, Index number)>;

  Lines(const std::string& path, Take take) : path_(path), take_(std::move(take)) {}

  void add(std::string_view piece) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      const std::string_view part = piece.substr(0, end);
      if (line_.size() + part.size() > kLongestCase) {
        throw BadInputError(fault(fmt::format("{} line {}", path_, number_),
                                  fmt::format("at most {}", format_bytes(kLongestCase)), "more",
                                  kNoCase));
      }
      if (end == piece.npos) {
        line_ += part;
        return;
      }
      if (line_.empty()) {
        finish_line(part);
      } else {
        line_ += part;
        finish_line(line_);
        line_.clear();
      }
      piece.remove_prefix(end + 1);
    }
  }

  void finish() {
    if (!line_.empty()) finish_line(line_);
  }

 private:
  void finish_line(std::string_view text) {
    const Index number = number_++;
    if (number == 1) text = without_mark(text);
    if (text.find_first_not_of(" \t\r") != text.npos) take_(text, number);
  }

  const std::string& path_;
  Take take_;
  std::string line_;  // the beginning of a line that is not complete
  Index number_ = 1;
};

void read_lines(const std::string& path, const TaskReading& reading, const Lines::Take& take) {
  Lines lines(path, take);
  read_pieces(
      path, reading.stop, [&](std::string_view piece) { lines.add(piece); }, kLargestTasks);
  lines.finish();
}

// Reads the file twice: counts the cases, then passes on the lines of the chosen ones alone.
void read_some(const std::string& path, const TaskReading& reading, const Lines::Take& take) {
  std::error_code none;  // opening the file reports the error
  if (std::filesystem::is_fifo(path, none)) {
    throw UsageError(fault(path, "a file, because some cases are chosen from all", "a pipe",
                           "write it to a file first"));
  }
  Index total = 0;
  read_lines(path, reading, [&](std::string_view, Index) { ++total; });
  const Index chosen = std::min(reading.most, total);
  Index at = 0, taken = 0;
  read_lines(path, reading, [&](std::string_view text, Index number) {
    // The middle of each of `chosen` equal parts of the file.
    if (taken < chosen && at++ == (2 * taken + 1) * total / (2 * chosen)) {
      ++taken;
      take(text, number);
    }
  });
  if (taken == chosen) return;
  throw BadInputError(
      fault(path, "a file that stays as it is", "fewer lines than before", "run it again"));
}

}  // namespace

Index read_task_cases(const std::string& path, const TaskReading& reading,
                      const std::function<void(TaskCase)>& take) {
  CaseParser parser(path, reading);
  Index cases = 0, passed = 0;
  const auto parse = [&](std::string_view text, Index number) {
    ++cases;
    std::optional<TaskCase> one = parser.parse(text, number);
    if (!one) return;
    ++passed;
    take(std::move(*one));
  };
  (reading.most > 0 ? read_some : read_lines)(path, reading, parse);
  if (cases == 0) throw BadInputError(fault(path, "a case", "an empty file", kNoCase));
  if (passed == 0) {
    throw BadInputError(fault(path, "answers that begin with a token of their own",
                              fmt::format("none in {} {}", cases, cases == 1 ? "case" : "cases"),
                              "begin each answer at a word, with the space before it"));
  }
  return cases - passed;
}

}  // namespace headgauge
