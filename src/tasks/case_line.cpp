#include "tasks/case_line.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/strict_json.hpp"

namespace headgauge {
namespace {

using nlohmann::json;

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

// Returns the index of the token that the byte `at` of the text belongs to.
Index token_at(const std::vector<std::string>& texts, std::size_t at) {
  Index token = 0;
  for (std::size_t end = 0; token < std::ssize(texts); ++token) {
    end += texts[token].size();
    if (end > at) break;
  }
  return token;
}

// Reads a line whose prompt is a text.
class TextCase {
 public:
  TextCase(const Line& line, const TaskReading& reading) : line_(line), reading_(reading) {
    if (reading.tokenizer != nullptr) return;
    throw BadInputError(fault(line.where(), "token ids, because the model has no tokenizer",
                              "texts", "write ids with the model's own tokenizer"));
  }

  void fill(TaskCase& one, const char* prompt_key, const char* answer_key) const {
    const std::string prompt = prompt_text(prompt_key);
    const std::string answer = answer_text(line_, answer_key);
    if (prompt.empty()) line_.refuse(prompt_key, "a prompt", "an empty text");
    if (answer.empty()) line_.refuse(answer_key, "an answer", "an empty text");
    const std::size_t at = one.source.empty() ? prompt.npos : prompt.rfind(one.source);
    Tokenizer::Around around;
    std::vector<std::string> texts;
    one.prompt = encode(prompt_key, prompt, around, at == prompt.npos ? nullptr : &texts);
    if (at != prompt.npos) one.distance = std::ssize(one.prompt) - token_at(texts, at);
    one.prompt.insert(one.prompt.begin(), around.before.begin(), around.before.end());
    one.answer = encode(answer_key, answer, around, nullptr);
    if (one.answer.empty()) line_.refuse(answer_key, "an answer", "a text without tokens");
    if (const json* const control = line_.find("control")) {
      if (!control->is_string()) {
        line_.refuse("control", "a text, because the prompt is a text", describe(*control));
      }
      one.control = encode("control", line_.text("control"), around, nullptr);
      one.control.insert(one.control.begin(), around.before.begin(), around.before.end());
    }
  }

 private:
  // LongBench has the context of a question apart, RULER the beginning of the answer.
  std::string prompt_text(const char* key) const {
    const std::string text = line_.text(key);
    const std::string context = line_.text("context");
    return context + (context.empty() ? "" : "\n\n") + text + line_.text("answer_prefix");
  }

  std::vector<int> encode(const char* key, const std::string& text, Tokenizer::Around& around,
                          std::vector<std::string>* texts) const {
    const Tokenizer& tokenizer = *reading_.tokenizer;
    std::vector<int> ids =
        texts == nullptr ? tokenizer.encode(text, around) : tokenizer.encode(text, around, *texts);
    check_ids(ids, reading_.vocabulary, fmt::format("{} key \"{}\"", line_.where(), key));
    return ids;
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

}  // namespace

CaseParser::CaseParser(const std::string& path, const TaskReading& reading)
    : path_(path), reading_(reading), task_(std::filesystem::path(path).stem().string()) {}

TaskCase CaseParser::parse(std::string_view text, Index number) {
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
  } else {
    TextCase(line, reading_).fill(one, prompt, answer);
  }
  take_distance(one, line);
  return one;
}

}  // namespace headgauge
