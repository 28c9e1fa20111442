// Adds declared options (headgauge/options.hpp) to the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headgauge/options.hpp"

namespace headgauge::cli {

// Example: "reproduce tokens".
std::string full_name(const CLI::App& command);

// Adds the options to a command, which keeps pointers to their values.
void add_options(CLI::App& command, const std::vector<Option>& options);

// Returns the declaration of an option of the command; null for options of the parser, such as
// --help.
const Option* declaration(const CLI::App& command, const CLI::Option& option);

// Return whether the words after the option form one list, separated by commas or spaces, and
// whether the items of the list are numbers.
bool takes_list(const Option& option);
bool takes_numbers(const Option& option);

// Returns the options of all commands, in order: objects with command, name, form, group, help and
// details.
nlohmann::ordered_json declared_options();
// Starts a new command line in this thread.
void forget_declared_options();

// Makes --json for a command that lists something.
Option json_option(bool& json);

// Returns the options with one of these names.
std::vector<Option> only(std::vector<Option> options, const std::vector<std::string>& names);
// Returns the options with none of these names.
std::vector<Option> without(std::vector<Option> options, const std::vector<std::string>& names);

}  // namespace headgauge::cli
