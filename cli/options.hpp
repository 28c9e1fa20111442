// Declared options (headgauge/options.hpp) on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headgauge/options.hpp"

namespace headgauge::cli {

// "reproduce tokens"
std::string full_name(const CLI::App& command);

// Adds the options to a command, which keeps what they point to.
void add_options(CLI::App& command, const std::vector<Option>& options);

// The declaration of an option of the command; null for those of the parser's own, such as --help.
const Option* declaration(const CLI::App& command, const CLI::Option& option);

// Whether words behind the option are items of one list, which commas or spaces separate, and
// whether those are numbers.
bool takes_list(const Option& option);
bool takes_numbers(const Option& option);

// Those of all commands, in order: objects with command, name, form, group, help and details.
nlohmann::ordered_json declared_options();
// Begins a new command line in this thread.
void forget_declared_options();

// --json of a command that lists something.
Option json_option(bool& json);

// The options of some of the names.
std::vector<Option> only(std::vector<Option> options, const std::vector<std::string>& names);
// The options of all names but these.
std::vector<Option> without(std::vector<Option> options, const std::vector<std::string>& names);

}  // namespace headgauge::cli
