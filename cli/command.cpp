#include "cli/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli/table_style.hpp"
#include "headgauge/base.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kNames = 26;  // columns before the texts of the help

std::string replaced(std::string text, std::string_view word, const std::string& by) {
  const std::size_t at = text.find(word);
  return at == text.npos ? text : text.replace(at, word.size(), by);
}

// Returns the help with the default of the option in it; reads the catalogue only if it must.
std::string help_text(const Option& option) {
  const std::string help = replaced(option.help, "{}", option_text(option));
  if (help.find("{groups}") == help.npos) return help;
  return replaced(help, "{groups}", fmt::format("{}", fmt::join(measure_groups(), ", ")));
}

// Lines of a name and its text, below titles in the order in which they begin.
class Sections {
 public:
  void add(const std::string& title, const std::string& name, std::string_view text) {
    auto section = std::ranges::find(all_, title, [](const auto& one) { return one.first; });
    if (section == all_.end()) section = all_.insert(section, {title, ""});
    std::string label = "  " + name;
    for (std::size_t end = 0; end != text.npos; label.clear()) {
      end = text.find('\n');
      section->second +=
          Painter(false).entry(Style::plain, label, text.substr(0, end), kTableWidth, kNames);
      if (end != text.npos) text.remove_prefix(end + 1);
    }
  }
  std::string text() const {
    std::string text;
    for (const auto& [title, lines] : all_) text += fmt::format("\n{}:\n{}", title, lines);
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

void list_options(const CommandNode& command, nlohmann::ordered_json& list) {
  for (const Option& option : command.options) {
    list.push_back({{"command", command.full_name()},
                    {"name", option.name()},
                    {"form", option.form},
                    {"group", option.group},
                    {"help", help_text(option)},
                    {"details", option.details}});
  }
  for (const CommandNode& below : command.commands) list_options(below, list);
}

}  // namespace

CommandNode& CommandNode::add(CommandNode command) {
  command.parent = this;
  return commands.emplace_back(std::move(command));
}

std::string CommandNode::full_name() const {
  if (parent == nullptr) return "";
  const std::string above = parent->full_name();
  return above.empty() ? name : above + " " + name;
}

CommandNode* CommandNode::find_command(const std::string& word) {
  const auto found = std::ranges::find_if(commands, [&](const CommandNode& one) {
    return word == one.name || (!word.empty() && word == one.alias);
  });
  return found == commands.end() ? nullptr : &*found;
}

const Option* CommandNode::find_option(const std::string& word) const {
  const auto found = std::ranges::find_if(
      options, [&](const Option& option) { return "--" + option.name() == word; });
  return found == options.end() ? nullptr : &*found;
}

std::string help_of(const CommandNode& command) {
  const std::string name = command.full_name();
  std::string usage = fmt::format("headgauge {}{}[options]", name, name.empty() ? "" : " ");
  Sections sections;
  for (const Operand& operand : command.operands) {
    const std::string word = operand.name + (operand.is_list() ? "..." : "");
    usage += operand.is_optional() ? " [" + word + "]" : " " + word;
    sections.add("Arguments", operand.name + (operand.is_list() ? " ..." : ""), operand.help);
  }
  if (command.parent == nullptr) sections.add("Options", "--version", "Print the version");
  sections.add("Options", "-h,--help", "Print this help");
  for (const Option& option : command.options) {
    sections.add(
        option.group.empty() ? "Options" : option.group,
        fmt::format("--{}{}{}", option.name(), option.form.empty() ? "" : " ", option.form),
        help_text(option));
  }
  if (!command.commands.empty()) usage += " COMMAND";
  for (const CommandNode& below : command.commands) {
    if (below.hidden) continue;
    sections.add("Commands", below.name + (below.alias.empty() ? "" : ", " + below.alias),
                 below.about);
  }
  return fmt::format("{}\nUsage: {}\n{}\n{}\n", command.about, usage, sections.text(),
                     command.example);
}

std::string see_help(const CommandNode& command) {
  const std::string name = command.full_name();
  return fmt::format("see headgauge {}{}--help", name, name.empty() ? "" : " ");
}

void refuse_word(const std::string& where, const CommandNode& command, const std::string* word,
                 const std::string& advice) {
  std::vector<std::string> names;
  for (const CommandNode& below : command.commands) {
    if (!below.hidden) names.push_back(below.name);
  }
  throw UsageError(fault(where, fmt::format("a command ({})", fmt::join(names, ", ")),
                         word == nullptr ? "none" : in_quotes(*word) + did_you_mean(*word, names),
                         advice));
}

nlohmann::ordered_json options_of_all(const CommandNode& app) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  list_options(app, list);
  return list;
}

}  // namespace headgauge::cli
