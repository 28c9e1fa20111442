// headgauge help: prints the --help of a command.
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "headgauge/base.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

int help(CommandNode& app, const std::vector<std::string>& words) {
  CommandNode* command = &app;
  for (const std::string& word : words) {
    if (command->commands.empty()) {
      throw UsageError(
          fault("help", "no word behind " + command->name, in_quotes(word), "leave it out"));
    }
    CommandNode* const named = command->find_command(word);
    if (named == nullptr) refuse_word("help", *command, &word, see_help(app));
    command = named;
  }
  print_text(help_of(*command));
  return 0;
}

}  // namespace

void add_help(CommandNode& app) {
  const auto words = std::make_shared<std::vector<std::string>>();
  app.add({.name = "help",
           .about = "Print the help of a command",
           .example = "Example: headgauge help scan",
           .operands = {{.name = "COMMAND",
                         .help = "The command; without one, the help of headgauge",
                         .value = words.get(),
                         .required = false}},
           .run = [=, &app](const CommandNode&) { return help(app, *words); }});
}

}  // namespace headgauge::cli
