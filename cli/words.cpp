#include "cli/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <span>
#include <system_error>

#include "headgauge/base.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

std::string name_in(const std::string& word) {
  return word.substr(0, word.find('='));
}

bool asks_help(const std::string& word) {
  return word == "-h" || word == "--help";
}

// True for "512", ".5" and, for heads, "3.*" and "*.0".
bool looks_like_number(const std::string& word) {
  const std::size_t at = word.find_first_not_of(".*");
  return at == word.npos || std::isdigit(static_cast<unsigned char>(word[at])) != 0;
}

// Returns whether a word names a model. `among_files`: files are expected, so that a word that is
// no file names a model.
bool names_model(const std::string& word, bool among_files) {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::file_status status = fs::status(word, none);
  if (fs::is_directory(status)) return true;
  if (fs::exists(status) && !fs::is_regular_file(status))
    return false;  // a pipe can be read only once
  if (among_files && !fs::exists(status)) return true;
  try {
    resolve_model(word);
    return true;
  } catch (const UnsupportedError&) {
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The form of options that take patterns of layers and heads. Other lists have the forms "N,N..."
// or "NAME[:KEY=VALUE],...".
constexpr const char* kPatterns = "LIST";

// Returns whether the option takes several words: files, or specs, which may contain commas.
bool takes_words(const Option& option) {
  return std::holds_alternative<std::vector<std::string>*>(option.value) ||
         std::holds_alternative<Texts*>(option.value);
}

// Returns whether the words behind the option form one list, separated by commas or spaces.
bool takes_list(const Option& option) {
  return option.form == kPatterns || option.form.find(',') != option.form.npos;
}

bool takes_numbers(const Option& option) {
  return option.form == kPatterns || std::holds_alternative<std::vector<int>*>(option.value) ||
         std::holds_alternative<std::vector<double>*>(option.value);
}

// An option as the user typed it.
struct Typed {
  const Option* option;
  std::vector<std::string> values = {};

  bool takes_files() const { return option->form.starts_with("FILE"); }
  // Returns whether the word belongs to the option; the first one may begin with a dash.
  bool takes(const CommandNode& command, const std::string& word) const {
    if (option->form.empty() || word == "--") return false;
    if (values.empty()) return command.find_option(name_in(word)) == nullptr && !asks_help(word);
    if (is_option(word)) return false;
    return takes_list(*option) ? !takes_numbers(*option) || looks_like_number(word)
                               : takes_words(*option);
  }
};

// What the user typed behind a command.
struct Words {
  std::vector<std::string> operands = {}, unknown = {};
  std::vector<Typed> options = {};
};

Words sorted_out(const CommandNode& command, std::span<const std::string> words) {
  Words found;
  bool operands = false;  // behind "--"
  for (auto at = words.begin(); at != words.end();) {
    const std::string& word = *at++;
    if (operands || !is_option(word)) {
      found.operands.push_back(word);
    } else if (word == "--") {
      operands = true;
    } else if (const Option* const option = command.find_option(name_in(word))) {
      Typed& typed = found.options.emplace_back(Typed{option});
      const std::size_t equals = word.find('=');
      if (equals != word.npos) typed.values.push_back(word.substr(equals + 1));
      while (at != words.end() && typed.takes(command, *at)) typed.values.push_back(*at++);
    } else {
      found.unknown.push_back(word);
    }
  }
  return found;
}

void name_standard_input(std::vector<Typed>& options) {
  constexpr const char* kStandardInput = "/dev/stdin";
  std::ptrdiff_t times = 0;
  for (Typed& typed : options) {
    if (!typed.takes_files()) continue;
    std::ranges::replace(typed.values, "-", kStandardInput);
    times += std::ranges::count(typed.values, kStandardInput);
  }
  if (times < 2) return;
  throw UsageError(fault("standard input", "to be read once", std::to_string(times) + " times",
                         "write it to a file first"));
}

// Makes the last word of an option with several words the model, if it names one.
void find_model(Words& words) {
  for (auto typed = words.options.rbegin(); typed != words.options.rend(); ++typed) {
    if (typed->values.size() < 2) continue;
    if (!names_model(typed->values.back(), typed->takes_files())) continue;
    words.operands = {typed->values.back()};
    typed->values.pop_back();
    return;
  }
}

// Sets the operands; returns the words that are left.
std::span<const std::string> set_operands(CommandNode& command,
                                          std::span<const std::string> words) {
  for (const Operand& operand : command.operands) {
    if (words.empty()) break;
    command.given.insert(operand.name);
    if (!operand.expects.empty() && std::ranges::count(words, "") > 0) {
      throw UsageError(fault(operand.name, operand.expects, "\"\"", see_help(command)));
    }
    if (operand.is_list()) {
      std::get<std::vector<std::string>*>(operand.value)->assign(words.begin(), words.end());
      return {};
    }
    *std::get<std::string*>(operand.value) = words.front();
    words = words.subspan(1);
  }
  return words;
}

// Returns the words of a list that is typed as one word with commas.
std::vector<std::string> split_at_commas(const std::string& list) {
  std::vector<std::string> words(1);
  for (const char c : list) {
    if (c == ',') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.size() > 1) std::erase(words, "");
  return words;
}

// Sets the option to all that was typed for it.
void set_typed(CommandNode& command, const Option& option, const std::vector<Typed>& all) {
  const std::string name = "--" + option.name();
  std::vector<std::string> values;
  Index times = 0;
  for (const Typed& typed : all) {
    if (typed.option != &option) continue;
    ++times;
    if (typed.values.empty() && !option.form.empty()) {
      throw UsageError(fault(name, "a value", "none", see_help(command)));
    }
    if (takes_list(option)) values.emplace_back();
    for (const std::string& value : typed.values) {
      if (!takes_list(option)) {
        values.push_back(value);
        continue;
      }
      std::string& list = values.back();
      list += (&value == &typed.values.front() || list.ends_with(',') ? "" : ",") + value;
    }
  }
  if (times == 0) return;
  command.given.insert(name);
  nlohmann::ordered_json value = true;
  if (takes_words(option)) {
    std::vector<std::string> words;
    for (const std::string& one : values) {
      const auto more = is_one_word(option) ? split_at_commas(one) : std::vector{one};
      words.insert(words.end(), more.begin(), more.end());
    }
    value = words;
  } else if (!values.empty()) {
    if (values.size() > 1) {
      throw UsageError(fault(name, "to be given once", fmt::format("{} times", values.size()),
                             "leave out all but one"));
    }
    value = values.front();
  }
  const std::string complaint = try_to_set(option, value);
  if (complaint.empty()) {
    if (!option.implies.empty()) set_option(find_option(command.options, option.implies), true);
    return;
  }
  throw UsageError(fmt::format("{}: {}; {}", name, complaint, see_help(command)));
}

[[noreturn]] void refuse_option(const std::string& where, const CommandNode& command,
                                const std::string& word) {
  const std::string name = name_in(word);
  std::vector<std::string> known = {"--help"};
  for (const Option& option : command.options) known.push_back("--" + option.name());
  std::string advice = see_help(command);
  const auto pattern =
      std::ranges::find(patterns(), name, [](const PatternInfo& info) { return "--" + info.name; });
  if (pattern != patterns().end() && command.find_option("--pattern") != nullptr) {
    advice = "write --pattern " + pattern->name + ":" + pattern->parameters.text();
  }
  throw UsageError(
      fault(where, "one of its options", in_quotes(word) + did_you_mean(name, known), advice));
}

[[noreturn]] void refuse_absence(const CommandNode& command, const std::string& operand,
                                 const std::vector<Typed>& options) {
  const std::string name = command.full_name();
  std::string taker;  // the last option that takes any number of words
  for (const Typed& typed : options) {
    if (takes_words(*typed.option)) taker = "--" + typed.option->name();
  }
  if (taker.empty()) throw UsageError(fault(name, operand, "none", see_help(command)));
  throw UsageError(fault(name, operand,
                         fmt::format("none, for {} takes the words behind it", taker),
                         fmt::format("write headgauge {} {} {} ...", name, operand, taker)));
}

// Throws UsageError for what is missing, and for options that exclude each other.
void require_complete(const CommandNode& command, const Words& words) {
  for (const Operand& operand : command.operands) {
    if (!operand.required || command.has(operand.name) || command.has(operand.unless)) continue;
    refuse_absence(command, operand.name, words.options);
  }
  for (const Option& option : command.options) {
    if (option.excludes.empty() || !command.has("--" + option.name())) continue;
    const bool is_operand =
        std::ranges::count(command.operands, option.excludes, &Operand::name) > 0;
    const std::string other = is_operand ? option.excludes : "--" + option.excludes;
    if (!command.has(other)) continue;
    throw UsageError(fault(command.full_name(), "one of the two",
                           fmt::format("both, {} excludes --{}", other, option.name()),
                           see_help(command)));
  }
}

}  // namespace

CommandNode* take_words(CommandNode& app, const std::vector<std::string>& words,
                        std::string& shown) {
  CommandNode* command = &app;
  auto at = words.begin();
  const auto is_next = [&](const auto& is) { return at != words.end() && is(*at); };
  while (is_next([&](const std::string& word) {
    return asks_help(word) || command->find_command(word) != nullptr;
  })) {
    if (!asks_help(*at)) command = command->find_command(*at);
    ++at;
  }
  command->given.clear();
  const std::span<const std::string> behind(at, words.end());
  if (command == &app && !behind.empty() && behind.front() == "--version") {
    shown = "headgauge " HEADGAUGE_VERSION "\n";
    return nullptr;
  }
  if (std::any_of(words.begin(), std::ranges::find(words, "--"), asks_help)) {
    shown = help_of(*command);
    return nullptr;
  }
  if (!command->commands.empty()) {
    const std::string name = command == &app ? "command line" : command->full_name();
    if (!behind.empty() && is_option(behind.front())) refuse_option(name, *command, behind.front());
    refuse_word(name, *command, behind.empty() ? nullptr : &behind.front(), see_help(*command));
  }
  Words found = sorted_out(*command, behind);
  const bool takes_model = !command->operands.empty() && command->operands.front().name == "MODEL";
  if (takes_model && found.operands.empty() && found.unknown.empty()) find_model(found);
  name_standard_input(found.options);
  const auto left = set_operands(*command, found.operands);
  for (const Option& option : command->options) set_typed(*command, option, found.options);
  // An unknown option may have taken the operand that is missing.
  if (!found.unknown.empty()) {
    refuse_option(command->full_name(), *command, found.unknown.front());
  }
  require_complete(*command, found);
  if (left.empty()) return command;
  const bool text = command->find_option("--text") != nullptr;
  throw UsageError(fault(command->full_name(), "no further argument", in_quotes(left.front()),
                         text ? "give a text by --text " + left.front() : see_help(*command)));
}

}  // namespace headgauge::cli
