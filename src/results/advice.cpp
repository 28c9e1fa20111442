#include "headgauge/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/cells.hpp"
#include "results/value_or.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kMostFiles = 3;  // named in a command
constexpr const char* kStdin = "/dev/stdin";

std::string in_shell(const std::string& word) {
  const bool plain = std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_./:@%+=,-").find(c) != std::string_view::npos;
  });
  if (plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Returns the values of the option that the run was given, in the shell's spelling; nothing if
// there are none.
std::vector<std::string> values_of(const Results& results, const char* option) {
  const auto values = results.settings.find(option);
  if (values == results.settings.end() || !values->is_array()) return {};
  std::vector<std::string> words;
  for (const auto& value : *values) {
    if (!value.is_string()) return {};
    words.push_back(in_shell(value.get<std::string>()));
  }
  return words;
}

// Returns the first of these options that the run was given, with its files; nothing if there are
// none, too many to repeat, or one that cannot be read again.
std::optional<std::string> files(const Results& results,
                                 std::initializer_list<const char*> options) {
  for (const char* option : options) {
    const std::vector<std::string> words = values_of(results, option);
    if (words.empty()) continue;
    if (words.size() > kMostFiles || std::ranges::find(words, kStdin) != words.end()) {
      return std::nullopt;
    }
    return fmt::format("--{} {}", option, fmt::join(words, " "));
  }
  return std::nullopt;
}

// Returns what the run compared, as options; empty if it compared nothing.
std::string changes(const Results& results) {
  std::string options;
  for (const auto& [option, between] :
       {std::pair{"pattern", ","}, {"normalizer", ","}, {"plan", " "}}) {
    const std::vector<std::string> words = values_of(results, option);
    if (words.empty()) continue;
    options +=
        fmt::format("{}--{} {}", options.empty() ? "" : " ", option, fmt::join(words, between));
  }
  return options;
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
  const Index window = suggested_keys(longest_length(results).value_or(256), 128);
  replace_word(words, "size=128", fmt::format("size={}", window));
  replace_word(words, "window=124", fmt::format("window={}", std::max<Index>(window - 4, 1)));
  // The largest power of two, up to 4096, that drops keys of the text and of the model's contexts.
  Index open = 4096;
  for (const auto& most :
       {results.model.trained_length, results.model.positions,
        results.text.tokens_total.empty() ? std::nullopt : results.text.tokens_total.front()}) {
    while (most && open > 1 && open > *most / 2) open /= 2;
  }
  replace_word(words, "WINDOW", fmt::format("{}", open));
  // The user's own words are inserted last, because they may contain these names.
  if (!head.empty()) replace_word(words, "HEAD", head);
  const std::string change = changes(results);
  if (!change.empty()) replace_word(words, "CHANGE", change);
  const auto text = files(results, {"text", "tokens"});
  constexpr std::string_view kBoth = "MODEL TEXT";
  if (!results.model.name || results.model.family == "synthetic") return words;
  const std::string name = in_shell(*results.model.name);
  std::string tasks;
  for (const char* option : {"tasks", "probe"}) {
    if (const auto given = files(results, {option})) tasks += " " + *given;
  }
  const std::string beside = text ? " " + *text : tasks.empty() ? " --text FILE" : "";
  const bool own_cases = results.command == Command::reproduce_limits;
  if (tasks.empty()) tasks = own_cases ? " --probe keys" : " --tasks FILE";
  replace_word(words, "MODEL TEXT TASKS", name + beside + tasks);
  if (words.find(kBoth) != words.npos) {
    replace_word(words, kBoth, name + " " + text.value_or("--text FILE"));
  } else {
    replace_word(words, "MODEL", name);
  }
  const auto plan = value_or<std::string>(results.settings, "plan_file", "FILE");
  const std::string folder = std::filesystem::path(plan).parent_path().string();
  replace_word(words, "--out OUT", "--out " + in_shell(folder.empty() ? "DIR" : folder));
  replace_word(words, "--plan PLAN", "--plan " + in_shell(plan));
  return words;
}

void fill_in_commands(Results& results) {
  for (std::string& notice : results.notices) {
    if (notice.find("`headgauge ") != notice.npos) notice = with_commands(results, notice);
  }
  for (SummaryLine& line : results.summary) {
    line.next =
        with_commands(results, std::move(line.next), line.heads.empty() ? "" : line.heads.front());
  }
}

std::string command_in(const std::string& words, const std::string& head) {
  const std::size_t begin = words.find('`') + 1;
  std::string command = words.substr(begin, words.find('`', begin) - begin);
  if (!head.empty()) replace_word(command, "HEAD", head);
  replace_word(command, "MODEL TEXT", "MODEL --text FILE");
  return command;
}

}  // namespace headgauge
