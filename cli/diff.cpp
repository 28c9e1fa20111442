// headgauge diff: what changed between two files of results, and whether limits hold.
#include "headgauge/diff.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/out_folder.hpp"
#include "cli/print.hpp"
#include "cli/run.hpp"
#include "cli/stop.hpp"
#include "cli/tables.hpp"
#include "cli/terminal.hpp"
#include "cli/usage.hpp"
#include "headgauge/session.hpp"
#include "headgauge/text.hpp"

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

Option lines_option(DiffCommand& o) {
  return {.member = "DiffCommand::top",
          .value = &o.top,
          .form = "K|all",
          .group = option_group::output,
          .help = "Show only the first K lines of a table (default {})",
          .least = 1,
          .none = "all",
          .decides = false};
}

int run(DiffCommand& command) {
  const OutputOptions& output = command.output;
  const auto signal = end_on_signal();
  DiffOptions& options = command.request.options;
  options.old_file = results_file(command.before);
  options.new_file = results_file(command.after);
  const DiffResults found =
      diff(read_results(options.old_file), read_results(options.new_file), command.request);
  const Results& results = found.results;
  signal->loaded();
  if (!output.out.empty()) OutFolder(output.out).save(results);
  std::vector<std::string> verdict = found.exceeded;
  if (!found.limits.empty() && verdict.empty()) verdict = {limits_hold(found.checks)};
  if (output.json) {
    print_text(results_text(results));
  } else {
    TableOptions table = table_on_output();
    table.top = command.top;
    print_text(render_diff(results, *results.changes, table));
    print_sentences(verdict);
    if (!output.out.empty()) print("\n{}", written_line(results, output.out));
  }
  flush_text();
  if (!output.quiet) print_notices(results.notices);
  if (output.json) {
    for (const std::string& line : verdict) tell("headgauge: " + legible(line) + "\n");
  }
  return !found.exceeded.empty() ? kLimitExceeded : 0;
}

void add_files(CLI::App& command, DiffCommand& options) {
  command.add_option("OLD", options.before, "A results.json, or the folder that holds it")
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
  add_options(*command, {lines_option(*options)});
  command->footer(
      "Example: headgauge diff before/results.json after/results.json\n"
      "         headgauge diff before after --limits limits.json --quiet");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
