#include "cli/command_line.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "cli/arrange_words.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/usage.hpp"

namespace headgauge::cli {
namespace {

// Differs from CLI11's formatter in one thing: one empty line between groups of options, not two.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    for (auto at = help.find("\n\n\n"); at != help.npos; at = help.find("\n\n\n", at)) {
      help.erase(at, 1);
    }
    return help;
  }
};

// Sets the layout of --help for every command.
void describe(CLI::App& app) {
  app.name("headgauge");
  app.set_version_flag("--version", "headgauge " HEADGAUGE_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("OPTIONS", "options");
  app.get_formatter()->label("Positionals", "Arguments");
  app.get_formatter()->column_width(26);
  app.group("Commands");
  app.require_subcommand(1);
  app.footer(
      "Example: headgauge scan gpt2 --text book.txt --out results\n"
      "headgauge help COMMAND, or COMMAND --help, prints what a command takes.");
}

void add_commands(CLI::App& app, Action& action) {
  forget_declared_options();
  add_scan(app, action);
  add_compare(app, action);
  add_converge(app, action);
  add_report(app, action);
  add_diff(app, action);
  add_series(app, action);
  add_validate(app, action);
  add_plan(app, action);
  add_reproduce(app, action);
  add_merge(app, action);
  add_task(app, action);
  add_list(app, action);
  add_inspect(app, action);
  add_help(app, action);
  add_options_list(app, action);
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  CLI::App app{"Measures what the attention heads of a transformer can and cannot do."};
  describe(app);
  Action action;
  add_commands(app, action);
  try {
    std::vector<std::string> words = arranged(app, arguments);
    std::ranges::reverse(words);  // CLI11 expects them in reverse order
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(usage_message(app, error));
    app.exit(error);  // prints the output of --help and --version
    std::cout.flush();
    return 0;
  }
  return action();
}

}  // namespace headgauge::cli
