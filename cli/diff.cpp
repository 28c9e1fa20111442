// headgauge diff: what changed between two files of results, and whether limits hold.
#include "headgauge/diff.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/run_lines.hpp"
#include "cli/stop.hpp"
#include "cli/tables.hpp"
#include "cli/terminal.hpp"
#include "cli/usage.hpp"
#include "headgauge/session.hpp"

namespace headgauge::cli {
namespace {

constexpr int kLimitExceeded = 1;  // exit code

struct DiffCommand {
  std::string before;
  std::string after;
  DiffRequest request;
  OutputOptions output;
  int top = 20;  // 0: all
};

int run(DiffCommand& command) {
  const auto signal = end_on_signal();
  DiffOptions& options = command.request.options;
  require_unread_results(command.output.out,
                         {command.before, command.after, command.request.limits});
  const std::vector<Results> before = read_runs(options.old_file = command.before);
  const std::vector<Results> after = read_runs(options.new_file = command.after);
  const DiffResults found = diff(before, after, command.request);
  const Results& results = found.results;
  signal->loaded();
  std::vector<std::string> verdict = found.exceeded;
  if (!found.limits.empty() && verdict.empty()) verdict = {limits_hold(found.checks)};
  TableOptions table = table_on_output();
  table.top = command.top;
  show_read(results, command.output, render_diff(results, *results.changes, table), verdict);
  return !found.exceeded.empty() ? kLimitExceeded : 0;
}

void add_files(CLI::App& command, DiffCommand& options) {
  command
      .add_option("OLD", options.before,
                  "A results.json, its folder, or a folder of such folders, one a text")
      ->option_text(" ")
      ->check(some_text("a file or folder"))
      ->required();
  command.add_option("NEW", options.after, "The results to compare with OLD")
      ->option_text(" ")
      ->check(some_text("a file or folder"))
      ->required();
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("diff", "Show what changed between two files of results");
  auto options = std::make_shared<DiffCommand>();
  add_files(*command, *options);
  add_options(*command, options_of(options->request));
  add_options(*command, options_of(options->output,
                                   "Folder for results.json and heads.csv; created if missing",
                                   "Print no notices"));
  add_options(*command, {lines_option(options->top, "DiffCommand")});
  command->footer(
      "Example: headgauge diff before/results.json after/results.json\n"
      "         headgauge diff before after --limits limits.json --quiet");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
