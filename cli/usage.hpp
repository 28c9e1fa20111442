// What is asked of option values, and what is said about a command line that cannot be read.
#pragma once

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <vector>

namespace headgauge::cli {

// Validators whose messages say what was expected and what was found.
CLI::Validator whole_number(long long least, long long most = std::numeric_limits<int>::max());
CLI::Validator seed_number();
// Finite and above 0; `below` is the first value that is too large.
CLI::Validator positive_number(double below = std::numeric_limits<double>::infinity());
CLI::Validator one_of(std::vector<std::string> words);
// Any text but none: an empty one is mostly a variable of a script that is not set.
CLI::Validator some_text(std::string what);

// The command of that name among those of `command`; null where there is none.
const CLI::App* find_command(const CLI::App& command, const std::string& name);

// What is said of a word, the next behind those that named `command`, that names no command.
std::string unknown_command(const std::string& where, const CLI::App& command,
                            const std::string& word);

// What is said where an operand is missing, which the option may have taken.
std::string missing_operand(const CLI::App& command, const std::string& operand,
                            const std::string& option);

// One line for an error of the parser, with the command whose --help helps.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace headgauge::cli
