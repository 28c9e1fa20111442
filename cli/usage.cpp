#include "cli/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli/options.hpp"
#include "headgauge/base.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string unknown_option(const std::string& where, const CLI::App& command,
                           const std::string& word, std::string advice) {
  const std::string name = word.substr(0, word.find('='));
  const auto pattern =
      std::ranges::find(patterns(), name, [](const PatternInfo& info) { return "--" + info.name; });
  if (pattern != patterns().end() && command.get_option_no_throw("--pattern") != nullptr) {
    advice = "write --pattern " + pattern->name + ":" + pattern->parameters.text();
  }
  return fault(where, "one of its options",
               in_quotes(word) + did_you_mean(name, option_names(command)), advice);
}

// `word`: the word found instead of a command; null if there was none.
std::string no_command(const std::string& where, const CLI::App& command, const std::string* word,
                       const std::string& advice) {
  const auto names = command_names(command);
  return fault(where, fmt::format("a command ({})", fmt::join(names, ", ")),
               word == nullptr ? "none" : in_quotes(*word) + did_you_mean(*word, names), advice);
}

// Returns the last given option that takes any number of words; empty if there is none.
std::string taker_of_words(const CLI::App& command) {
  std::string name;
  for (const CLI::Option* option : command.parse_order()) {
    if (option->get_positional() || option->get_items_expected_max() < 2) continue;
    name = "--" + option->get_lnames().front();
  }
  return name;
}

// Extracts "MODEL" from "MODEL is required", "--out" from "--out: 1 required TEXT missing".
std::string option_of(const std::string& message) {
  return message.substr(0, message.find_first_of(": "));
}

}  // namespace

CLI::Validator some_text(std::string what) {
  return CLI::Validator(
      [what = std::move(what)](const std::string& text) {
        return text.empty() ? fmt::format("expected {}, found {}", what, in_quotes(text)) : "";
      },
      "");
}

const CLI::App* find_command(const CLI::App& command, const std::string& name) {
  const auto found =
      command.get_subcommands([&](const CLI::App* one) { return one->check_name(name); });
  return found.empty() ? nullptr : found.front();
}

std::string missing_operand(const CLI::App& command, const std::string& operand,
                            const std::string& option) {
  const std::string name = full_name(command);
  return fault(name, operand, fmt::format("none, for {} takes the words behind it", option),
               fmt::format("write headgauge {} {} {} ...", name, operand, option));
}

std::string unknown_command(const std::string& where, const CLI::App& command,
                            const std::string& word) {
  return no_command(where, command, &word, "see headgauge --help");
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  // Descends to the last command that was named: commands may have sub-commands.
  const CLI::App* last = &app;
  std::string name;
  while (!last->get_subcommands().empty()) {
    last = last->get_subcommands().front();
    name += (name.empty() ? "" : " ") + last->get_name();
  }
  const CLI::App& command = *last;
  const bool incomplete = !command_names(command).empty();
  const std::string advice = fmt::format("see headgauge {}{}--help", name, name.empty() ? "" : " ");
  if (name.empty()) name = "command line";
  const std::string what = error.what();
  const auto rest = app.remaining(true);

  if (incomplete) {
    const auto word = std::ranges::find_if(rest, [](const auto& w) { return !w.starts_with('-'); });
    if (word == rest.end() && !rest.empty())
      return unknown_option(name, command, rest.front(), advice);
    return no_command(name, command, word == rest.end() ? nullptr : &*word, advice);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !rest.empty()) {
    const std::string& extra = rest.front();
    if (extra.starts_with('-')) return unknown_option(name, command, extra, advice);
    const bool text = command.get_option_no_throw("--text") != nullptr;
    return fault(name, "no further argument", in_quotes(extra),
                 text ? "give a text by --text " + extra : advice);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    // An unknown option may have consumed the missing operand.
    const auto unknown =
        std::ranges::find_if(rest, [](const auto& w) { return w.starts_with('-'); });
    if (unknown != rest.end()) return unknown_option(name, command, *unknown, advice);
    const std::string taker = taker_of_words(command);
    return taker.empty() ? fault(name, option_of(what), "none", advice)
                         : missing_operand(command, option_of(what), taker);
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    return fault(name, "one of the two", "both, " + what, advice);
  }
  if (what.find("missing") != std::string::npos) {
    return fault(option_of(what), "a value", "none", advice);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    // The parser says "--top: At Most 1 required but received 2".
    return fault(option_of(what), "to be given once", what.substr(what.rfind(' ') + 1) + " times",
                 "leave out all but one");
  }
  return what.substr(0, what.find('\n')) + "; " + advice;
}

}  // namespace headgauge::cli
