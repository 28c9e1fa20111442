#include "headgauge/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace headgauge {
namespace {

constexpr std::size_t kMostNamed = 3;  // files or rules named in a command

std::string in_shell(const std::string& word) {
  const bool plain = std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_./:@%+=,-").find(c) != std::string_view::npos;
  });
  if (plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Returns the values of the first of these options that the run was given; nothing if there are
// none, or too many to repeat.
std::optional<std::string> given(const Results& results, std::initializer_list<const char*> options,
                                 const char* between) {
  for (const char* option : options) {
    const auto values = results.settings.find(option);
    if (values == results.settings.end() || !values->is_array() || values->empty()) continue;
    std::vector<std::string> words;
    for (const auto& value : *values) {
      if (value.is_string()) words.push_back(in_shell(value.get<std::string>()));
    }
    if (words.size() != values->size() || words.size() > kMostNamed) return std::nullopt;
    return fmt::format("--{} {}", option, fmt::join(words, between));
  }
  return std::nullopt;
}

// Replaces every occurrence of `name` as a whole word.
void replace_word(std::string& words, std::string_view name, const std::string& by) {
  const auto is_letter = [&](std::size_t at) {
    return at < words.size() &&
           (std::isalnum(static_cast<unsigned char>(words[at])) != 0 || words[at] == '_');
  };
  for (auto at = words.find(name); at != words.npos; at = words.find(name, at)) {
    if ((at > 0 && is_letter(at - 1)) || is_letter(at + name.size())) {
      at += name.size();
    } else {
      words.replace(at, name.size(), by);
      at += by.size();
    }
  }
}

}  // namespace

std::string with_commands(const Results& results, std::string words, const std::string& head) {
  // The user's own words are inserted last, because they may contain these names.
  if (!head.empty()) replace_word(words, "HEAD", head);
  if (const auto change = given(results, {"pattern", "normalizer"}, ",")) {
    replace_word(words, "CHANGE", *change);
  }
  const auto text = given(results, {"text", "tokens"}, " ");
  constexpr std::string_view kBoth = "MODEL TEXT";
  if (!results.model.name) return words;
  const std::string name = in_shell(*results.model.name);
  std::string tasks;
  for (const char* option : {"tasks", "probe"}) {
    if (const auto words_of = given(results, {option}, " ")) tasks += " " + *words_of;
  }
  const std::string beside = text ? " " + *text : tasks.empty() ? " --text FILE" : "";
  if (tasks.empty()) tasks = " --tasks FILE";
  replace_word(words, "MODEL TEXT TASKS", name + beside + tasks);
  if (words.find(kBoth) != words.npos) {
    replace_word(words, kBoth, name + " " + text.value_or("--text FILE"));
  } else {
    replace_word(words, "MODEL", name);
  }
  return words;
}

void fill_in_commands(Results& results) {
  for (SummaryLine& line : results.summary) {
    line.next =
        with_commands(results, std::move(line.next), line.heads.empty() ? "" : line.heads.front());
  }
}

std::string command_in(const std::string& words, const std::string& head) {
  const std::size_t begin = words.find('`') + 1;
  std::string command = words.substr(begin, words.find('`', begin) - begin);
  replace_word(command, "HEAD", head);
  return command;
}

}  // namespace headgauge
