// headgauge diff: what changed between two files of results, and whether limits hold.
#include "headgauge/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/commands.hpp"
#include "cli/diff_table.hpp"
#include "cli/options.hpp"
#include "cli/out_folder.hpp"
#include "cli/print.hpp"
#include "cli/run.hpp"
#include "cli/stop.hpp"
#include "cli/terminal.hpp"
#include "cli/usage.hpp"
#include "headgauge/kernels.hpp"
#include "headgauge/session.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

constexpr int kLimitExceeded = 1;  // exit code

struct DiffCommand {
  std::string before;
  std::string after;
  DiffOptions options;
  double level = kFalseDiscoveries;
  std::string limits;
  OutputOptions output;
  int top = 20;  // 0: all
};

// Beside those of DiffOptions and OutputOptions.
std::vector<Option> own_options(DiffCommand& o) {
  return {
      {.member = "DiffCommand::level",
       .value = &o.level,
       .form = "P",
       .group = option_group::compared,
       .help = "The share of what is listed that may be there by chance (default {})",
       .details = "The false discovery rate over all that is compared; where nothing changed, "
                  "anything is listed with this probability. [diff.md](diff.md#how-it-is-decided)",
       .below = 1},
      {.member = "DiffCommand::limits",
       .value = &o.limits,
       .form = "FILE",
       .group = option_group::compared,
       .help = "Check these limits (docs/formats.md): exit code 1 if one is exceeded",
       .details = "[formats.md](formats.md#limits). There is a line for each that is exceeded",
       .expects = "a file"},
      {.member = "DiffCommand::top",
       .value = &o.top,
       .form = "K|all",
       .group = option_group::output,
       .help = "Show only the first K lines of a table (default {})",
       .least = 1,
       .none = "all"}};
}

void complete(DiffCommand& command, Results& results) {
  results.tool = {{"name", "headgauge"},
                  {"version", HEADGAUGE_VERSION},
                  {"simd", simd_level()},
                  {"threads", 1}};
  write_settings(own_options(command), results.settings);
  write_settings(options_of(command.output), results.settings);
  use_option_names(results);
}

int run(DiffCommand& command) {
  const OutputOptions& output = command.output;
  const auto limits = command.limits.empty() ? std::vector<Limit>() : read_limits(command.limits);
  const auto signal = end_on_signal();
  DiffOptions options = command.options;
  options.old_file = results_file(command.before);
  options.new_file = results_file(command.after);
  Results results = diff(read_results(options.old_file), read_results(options.new_file), options);
  const auto checks = check_limits(results, limits);
  results.changes = list_changes(results, command.level);
  const ChangeList& changes = *results.changes;
  results.summary = summarize_changes(results, changes);
  complete(command, results);
  signal->loaded();
  if (!output.out.empty()) OutFolder(output.out).save(results);
  const bool exceeded = std::ranges::any_of(checks, [](const auto& c) { return c.exceeded > 0; });

  std::vector<std::string> verdict;
  if (!limits.empty()) verdict = limit_lines(limits, checks);
  if (output.json) {
    print_text(results_text(results));
  } else {
    TableOptions table = table_on_output();
    table.top = command.top;
    print_text(render_diff(results, changes, table));
    print_sentences(verdict);
    if (!output.out.empty()) print("\n{}", written_line(results, output.out));
  }
  flush_text();
  if (!output.quiet) print_notices(results.notices);
  if (output.json) {
    for (const std::string& line : verdict) tell("headgauge: " + legible(line) + "\n");
  }
  return exceeded ? kLimitExceeded : 0;
}

void add_files(CLI::App& command, DiffCommand& options) {
  command.add_option("OLD", options.before, "A results.json, or the folder that holds it")
      ->option_text(" ")
      ->check(some_text("a file or folder"))
      ->required();
  command.add_option("NEW", options.after, "The one to set against it")
      ->option_text(" ")
      ->check(some_text("a file or folder"))
      ->required();
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("diff", "Show what changed between two files of results");
  auto options = std::make_shared<DiffCommand>();
  add_files(*command, *options);
  add_options(*command, options_of(options->options));
  add_options(*command, without(own_options(*options), {"top"}));
  add_options(*command,
              options_of(options->output, "Folder for results.json and heads.csv; made if need be",
                         "No notices"));
  add_options(*command, only(own_options(*options), {"top"}));
  command->footer(
      "Example: headgauge diff before/results.json after/results.json\n"
      "         headgauge diff before after --limits limits.json --quiet");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
