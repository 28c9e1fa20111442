// headgauge help: prints the --help of a command.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/usage.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

int help(const CLI::App& app, std::vector<std::string> words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    if (command->get_subcommands({}).empty()) {
      throw UsageError(
          fault("help", "no word behind " + command->get_name(), in_quotes(word), "leave it out"));
    }
    const CLI::App* const named = find_command(*command, word);
    if (named == nullptr) throw UsageError(unknown_command("help", *command, word));
    command = named;
  }
  words.emplace_back("--help");
  return run_command(words);
}

}  // namespace

void add_help(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("help", "Print the help of a command");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "The command; without one, the help of headgauge")
      ->option_text("...");
  command->footer("Example: headgauge help scan");
  command->callback([=, &app, &action] { action = [=, &app] { return help(app, *words); }; });
}

}  // namespace headgauge::cli
