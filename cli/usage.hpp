// Validates operands, and describes errors of the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace headgauge::cli {

// Accepts any text except an empty one, which usually comes from an unset script variable; the
// message says what was expected and what was found.
CLI::Validator some_text(std::string what);

// Returns the sub-command of that name; null if there is none.
const CLI::App* find_command(const CLI::App& command, const std::string& name);

// Returns the message for a word that follows `command` but names no sub-command.
std::string unknown_command(const std::string& where, const CLI::App& command,
                            const std::string& word);

// Returns the message for a missing operand, which the option may have consumed.
std::string missing_operand(const CLI::App& command, const std::string& operand,
                            const std::string& option);

// Returns one line for an error of the parser, with the command whose --help to read.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace headgauge::cli
