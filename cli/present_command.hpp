// The command that this thread runs, as it was typed.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace headgauge::cli {

struct PresentCommand {
  std::string name;
  // What its numbers depend on (Option::decides): name and arguments of each option that was given,
  // "" for those without a name.
  std::vector<std::pair<std::string, std::vector<std::string>>> options;
};

// Remembers the command, whose arguments were parsed.
void note_command(const CLI::App& command);
const PresentCommand& present_command();

// The words of the command line, and back.
nlohmann::ordered_json as_json(const PresentCommand& command);
std::vector<std::string> words_of(const nlohmann::ordered_json& command);

}  // namespace headgauge::cli
