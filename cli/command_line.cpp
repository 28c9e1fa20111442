#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/usage.hpp"
#include "headgauge/base.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge::cli {
namespace {

void add_lines(const std::string& list, std::string_view text, std::vector<std::string>& words) {
  // The system would end the argument at a NUL and open a file of another name.
  if (text.find('\0') != std::string_view::npos) {
    throw BadInputError(fault(list, "a word on each line", "a line with a NUL byte in it",
                              "list the words as text, one on each line"));
  }
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) words.emplace_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// Returns the arguments with each `@FILE` replaced by the lines of the file. Each line is one
// argument, whatever it contains; empty lines are skipped, and a line `@X` is not expanded. Write
// ./@name for a file whose own name begins with @. Throws BadInputError as read_text_file() does.
std::vector<std::string> with_lists(const std::vector<std::string>& arguments) {
  std::vector<std::string> words, lists;
  for (const std::string& argument : arguments) {
    if (argument.size() < 2 || argument.front() != '@') {
      words.push_back(argument);
      continue;
    }
    const std::size_t before = words.size();
    lists.push_back(argument.substr(1));
    add_lines(argument, read_text_file(argument.substr(1)), words);
    if (words.size() == before) {
      throw BadInputError(fault(argument, "a word on each line, such as the name of a file", "none",
                                "list them, or write ./" + argument + " for a file of that name"));
    }
  }
  for (std::size_t w = 1; w < words.size(); ++w) {  // a list is read, too
    if (words[w].starts_with("--out=")) require_unread(words[w].substr(6), lists, kResultsNames);
    if (words[w - 1] == "--out") require_unread(words[w], lists, kResultsNames);
  }
  return words;
}

constexpr const char* kStandardInput = "/dev/stdin";

bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
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

// An option as the user typed it.
struct Typed {
  std::string name;  // "--lengths"
  bool equals = false;
  std::vector<std::string> values;
  const Option* declared = nullptr;

  bool takes(const std::string& word, int most) const {
    if (most == 0 || is_option(word)) return false;
    if (values.empty()) return true;
    if (declared == nullptr || !takes_list(*declared)) {
      return values.size() < static_cast<std::size_t>(most);
    }
    return !takes_numbers(*declared) || looks_like_number(word);
  }
  void join() {
    if (declared == nullptr || values.empty() || !takes_list(*declared)) return;
    std::string list = values.front();
    for (std::size_t i = 1; i < values.size(); ++i) {
      list += (list.ends_with(',') ? "" : ",") + values[i];
    }
    values = {list};
  }
  bool takes_files() const { return declared != nullptr && declared->form.starts_with("FILE"); }
  void append_to(std::vector<std::string>& words) const {
    const bool joined = equals && !values.empty();
    words.push_back(joined ? name + "=" + values.front() : name);
    words.insert(words.end(), values.begin() + (joined ? 1 : 0), values.end());
  }
};

// Reads an option and the words that it takes, starting at `at`.
template <class Iterator>
Typed read_option(const CLI::App& command, const CLI::Option& option, Iterator& at, Iterator end) {
  Typed typed;
  const std::size_t equals = at->find('=');
  typed.name = at->substr(0, equals);
  typed.declared = declaration(command, option);
  if (equals != at->npos) {
    typed.equals = true;
    typed.values.push_back(at->substr(equals + 1));
  }
  for (++at; at != end && typed.takes(*at, option.get_items_expected_max()); ++at) {
    typed.values.push_back(*at);
  }
  return typed;
}

void name_standard_input(std::vector<Typed>& options) {
  std::ptrdiff_t times = 0;
  for (Typed& option : options) {
    if (!option.takes_files()) continue;
    std::ranges::replace(option.values, "-", kStandardInput);
    times += std::ranges::count(option.values, kStandardInput);
  }
  if (times < 2) return;
  throw UsageError(fault("standard input", "to be read once", std::to_string(times) + " times",
                         "write it to a file first"));
}

// Removes and returns the last word of an option with several words if it names a model; empty if
// none does.
std::vector<std::string> take_model(std::vector<Typed>& options) {
  for (auto option = options.rbegin(); option != options.rend(); ++option) {
    if (option->values.size() < 2) continue;
    if (!names_model(option->values.back(), option->takes_files())) continue;
    std::vector<std::string> model = {option->values.back()};
    option->values.pop_back();
    return model;
  }
  return {};
}

// Throws UsageError if an option takes all words: the parser would use the last one as MODEL.
void require_no_taker(const CLI::App& command, const std::vector<Typed>& options) {
  const auto taker = std::ranges::find_if(options, [](const Typed& option) {
    return option.takes_files() && option.values.size() > 1;
  });
  const bool asks_help = std::ranges::any_of(
      options, [](const Typed& option) { return option.name == "-h" || option.name == "--help"; });
  if (taker == options.end() || asks_help) return;
  throw UsageError(missing_operand(command, "MODEL", taker->name));
}

// Returns the arguments with all positional ones before the options (some options take every word
// that follows), with each list of separate words joined into one word, and with "-" replaced by
// the path of the standard input. If no positional argument gives MODEL, the last of several words
// after an option becomes MODEL if it names a model. Words from an unknown option on stay as they
// are. Throws UsageError if MODEL is missing because all those words are files, or if the standard
// input would be read twice.
std::vector<std::string> arranged(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  auto at = words.begin();
  for (; at != words.end(); ++at) {
    const CLI::App* const named = find_command(*command, *at);
    if (named == nullptr) break;
    command = named;
  }
  std::vector<std::string> all(words.begin(), at), operands;
  std::vector<Typed> options;
  while (at != words.end() && *at != "--") {
    if (!is_option(*at)) {
      operands.push_back(*at++);
      continue;
    }
    const CLI::Option* const option = command->get_option_no_throw(at->substr(0, at->find('=')));
    if (option == nullptr) break;
    options.push_back(read_option(*command, *option, at, words.end()));
  }
  const CLI::Option* const model = command->get_option_no_throw("MODEL");
  if (operands.empty() && at == words.end() && model != nullptr) {
    operands = take_model(options);
    if (operands.empty() && model->get_required()) require_no_taker(*command, options);
  }
  name_standard_input(options);
  all.insert(all.end(), operands.begin(), operands.end());
  for (Typed& option : options) {
    option.join();
    option.append_to(all);
  }
  all.insert(all.end(), at, words.end());
  return all;
}

// Differs from CLI11's formatter in one thing: one empty line between groups of options, not two.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    for (auto at = help.find("\n\n\n"); at != help.npos; at = help.find("\n\n\n", at)) {
      help.erase(at, 1);
    }
    return help;
  }
};

// Sets the layout of --help for every command.
void describe(CLI::App& app) {
  app.name("headgauge");
  app.set_version_flag("--version", "headgauge " HEADGAUGE_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("OPTIONS", "options");
  app.get_formatter()->label("Positionals", "Arguments");
  app.get_formatter()->column_width(26);
  app.group("Commands");
  app.require_subcommand(1);
  app.footer(
      "Example: headgauge scan gpt2 --text book.txt --out results\n"
      "headgauge help COMMAND, or COMMAND --help, prints what a command takes.");
}

void add_commands(CLI::App& app, Action& action) {
  forget_declared_options();
  add_scan(app, action);
  add_compare(app, action);
  add_converge(app, action);
  add_report(app, action);
  add_diff(app, action);
  add_series(app, action);
  add_validate(app, action);
  add_plan(app, action);
  add_reproduce(app, action);
  add_merge(app, action);
  add_task(app, action);
  add_list(app, action);
  add_inspect(app, action);
  add_help(app, action);
  add_options_list(app, action);
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  CLI::App app{"Measures what the attention heads of a transformer can and cannot do."};
  describe(app);
  Action action;
  add_commands(app, action);
  try {
    std::vector<std::string> words = arranged(app, with_lists(arguments));
    std::ranges::reverse(words);  // CLI11 expects them in reverse order
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(usage_message(app, error));
    app.exit(error);  // prints the output of --help and --version
    std::cout.flush();
    return 0;
  }
  return action();
}

}  // namespace headgauge::cli
