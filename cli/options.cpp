#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli/table_style.hpp"
#include "headgauge/base.hpp"
#include "headgauge/catalogue.hpp"

namespace headgauge::cli {
namespace {

// The form of options that take patterns of layers and heads. Other lists have the forms "N,N..."
// or "NAME[:KEY=VALUE],...".
constexpr const char* kPatterns = "LIST";

// Breaks the help into lines that fit next to the names, whose column main.cpp makes 26 wide.
std::string in_column(const std::string& help) {
  return wrapped(help, kTableWidth - 26, 0);
}

std::string help_text(const Option& option) {
  std::string help = option.help;
  const std::size_t at = help.find("{}");
  return at == help.npos ? help : help.replace(at, 2, option_text(option));
}

// Returns whether the option takes several words: files, or specs, which may contain commas.
bool takes_words(const Option& option) {
  return std::holds_alternative<std::vector<std::string>*>(option.value) ||
         std::holds_alternative<Texts*>(option.value);
}

// Sets the option to what was typed; a value that does not fit is an error of the parser.
template <class Typed>
void take(const Option& option, const Typed& typed) {
  const std::string complaint = try_to_set(option, typed);
  if (!complaint.empty()) throw CLI::ValidationError("--" + option.name(), complaint);
}

CLI::Option* add_value(CLI::App& command, const Option& option, const std::string& help) {
  const std::string name = "--" + option.name();
  if (option.form.empty()) return command.add_flag(name, *std::get<bool*>(option.value), help);
  if (!takes_words(option)) {
    return command.add_option_function<std::string>(
        name, [option](const std::string& text) { take(option, text); }, help);
  }
  CLI::Option* const added = command.add_option_function<std::vector<std::string>>(
      name, [option](const std::vector<std::string>& words) { take(option, words); }, help);
  return is_one_word(option) ? added->delimiter(',') : added;
}

struct Declared {
  std::string command;
  Option option;
  std::string help;
};

constexpr std::string_view kGroups = "{groups}";

std::string with_groups(std::string help) {
  const std::size_t at = help.find(kGroups);
  if (at == help.npos) return help;
  return help.replace(at, kGroups.size(), fmt::format("{}", fmt::join(measure_groups(), ", ")));
}

// The options of the command line that this thread builds.
std::vector<Declared>& all_declared() {
  static thread_local std::vector<Declared> all;
  return all;
}

}  // namespace

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  const bool nested = parent != nullptr && parent->get_parent() != nullptr;
  return (nested ? parent->get_name() + " " : "") + command.get_name();
}

void add_options(CLI::App& command, const std::vector<Option>& options) {
  for (const Option& option : options) {
    const std::string help = help_text(option);
    CLI::Option* added = add_value(command, option, in_column(help));
    if (!option.group.empty()) added->group(option.group);
    if (!option.form.empty()) added->option_text(option.form);
    if (!option.excludes.empty()) added->excludes(command.get_option("--" + option.excludes));
    all_declared().push_back({full_name(command), option, help});
    if (help.find(kGroups) == help.npos) continue;
    // Reads the catalogue only if this command runs, not at every start.
    command.preparse_callback(
        [added, help](std::size_t) { added->description(in_column(with_groups(help))); });
  }
}

void forget_declared_options() {
  all_declared().clear();
}

const Option* declaration(const CLI::App& command, const CLI::Option& option) {
  if (option.get_lnames().empty()) return nullptr;
  const auto found = std::ranges::find_if(all_declared(), [&](const Declared& declared) {
    return declared.option.name() == option.get_lnames().front() &&
           declared.command == full_name(command);
  });
  return found == all_declared().end() ? nullptr : &found->option;
}

bool takes_list(const Option& option) {
  return option.form == kPatterns || option.form.find(",") != option.form.npos;
}

bool takes_numbers(const Option& option) {
  return option.form == kPatterns || std::holds_alternative<std::vector<int>*>(option.value) ||
         std::holds_alternative<std::vector<double>*>(option.value);
}

nlohmann::ordered_json declared_options() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Declared& declared : all_declared()) {
    const Option& option = declared.option;
    list.push_back({{"command", declared.command},
                    {"name", option.name()},
                    {"form", option.form},
                    {"group", option.group},
                    {"help", with_groups(declared.help)},
                    {"details", option.details}});
  }
  return list;
}

Option json_option(bool& json) {
  return {.member = "OutputOptions::json", .value = &json, .form = "", .help = "Print JSON"};
}

std::vector<Option> only(std::vector<Option> options, const std::vector<std::string>& names) {
  std::erase_if(options, [&](const Option& option) {
    return std::ranges::find(names, option.name()) == names.end();
  });
  return options;
}

std::vector<Option> without(std::vector<Option> options, const std::vector<std::string>& names) {
  std::erase_if(options, [&](const Option& option) {
    return std::ranges::find(names, option.name()) != names.end();
  });
  return options;
}

}  // namespace headgauge::cli
