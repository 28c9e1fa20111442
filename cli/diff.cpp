// headgauge diff: what changed between two files of results, and whether limits hold.
#include "headgauge/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/commands.hpp"
#include "cli/diff_table.hpp"
#include "cli/out_folder.hpp"
#include "cli/print.hpp"
#include "cli/run.hpp"
#include "cli/terminal.hpp"
#include "cli/usage.hpp"
#include "kernels/simd.hpp"

namespace headgauge::cli {
namespace {

constexpr int kLimitExceeded = 1;  // exit code
constexpr const char* kComparedGroup = "What is compared";

struct DiffCommand {
  std::string before;
  std::string after;
  DiffOptions options;
  double errors = 2;
  std::string top = "20";
  std::string limits;
  std::string out;
  bool json = false;
  bool quiet = false;
};

void complete(const DiffCommand& command, int top, Results& results) {
  results.tool = {{"name", "headgauge"},
                  {"version", HEADGAUGE_VERSION},
                  {"simd", simd_level()},
                  {"threads", 1}};
  auto& settings = results.settings;
  settings["errors"] = command.errors;
  settings["limits"] = command.limits;
  set_top(top, results);
  settings["out"] = command.out;
  settings["json"] = command.json;
  settings["quiet"] = command.quiet;
}

int run(const DiffCommand& command) {
  const int top = command.top == "all" ? 0 : std::stoi(command.top);
  const auto limits = command.limits.empty() ? std::vector<Limit>() : read_limits(command.limits);
  DiffOptions options = command.options;
  options.old_file = results_file(command.before);
  options.new_file = results_file(command.after);
  Results results = diff(read_results(options.old_file), read_results(options.new_file), options);
  const auto checks = check_limits(results, limits);
  results.changes = list_changes(results, command.errors);
  const ChangeList& changes = *results.changes;
  results.summary = summarize_changes(results, changes, command.errors);
  complete(command, top, results);
  if (!command.out.empty()) OutFolder(command.out).save(results);

  std::vector<std::string> verdict;
  if (!limits.empty()) verdict = limit_lines(limits, checks);
  if (command.json) {
    print_text(results_text(results));
  } else {
    TableOptions table = table_on_output();
    table.top = top;
    print_text(render_diff(results, changes, command.errors, table));
    print_sentences(verdict);
    if (!command.out.empty()) print("\n{}", written_line(results, command.out));
  }
  flush_text();
  if (!command.quiet) print_notices(results.notices);
  if (command.json) {
    for (const std::string& line : verdict) fmt::print(stderr, "headgauge: {}\n", line);
  }
  const bool exceeded = std::ranges::any_of(checks, [](const auto& c) { return c.exceeded > 0; });
  return exceeded ? kLimitExceeded : 0;
}

void add_compared(CLI::App& command, DiffCommand& options) {
  command.add_option("OLD", options.before, "A results.json, or the folder that holds it")
      ->option_text(" ")
      ->check(some_text("a file or folder"))
      ->required();
  command.add_option("NEW", options.after, "The one to set against it")
      ->option_text(" ")
      ->check(some_text("a file or folder"))
      ->required();
  command
      .add_option("--metrics", options.options.metrics,
                  "Only these metrics (default: all that both have)")
      ->option_text("NAME,NAME...")
      ->delimiter(',')
      ->check(some_text("the name of a metric"))
      ->group(kComparedGroup);
  command
      .add_option("--heads", options.options.heads,
                  "Only these heads, as layer.head: 3.5,7.*; and only metrics of heads")
      ->option_text("LIST")
      ->check(some_text("heads such as 3.5,7.*"))
      ->group(kComparedGroup);
  command
      .add_option("--errors", options.errors,
                  "List what changed by more than this many standard errors (default 2)")
      ->option_text("K")
      ->check(positive_number())
      ->group(kComparedGroup);
  command
      .add_option("--limits", options.limits,
                  "Check these limits (docs/formats.md): exit code 1 if one is exceeded")
      ->option_text("FILE")
      ->check(some_text("a file"))
      ->group(kComparedGroup);
}

void add_output(CLI::App& command, DiffCommand& options) {
  command
      .add_option("--out", options.out, "Folder for results.json and heads.csv; made if need be")
      ->option_text("DIR")
      ->check(some_text("a folder"))
      ->group(kOutputGroup);
  command.add_flag("--json", options.json, "Print results.json in place of the table")
      ->group(kOutputGroup);
  const CLI::Validator number = whole_number(1);
  command.add_option("--top", options.top, "Show only the first K lines of a table (default 20)")
      ->option_text("K|all")
      ->check([number](const std::string& text) {
        return text == "all" ? std::string() : number(text);
      })
      ->group(kOutputGroup);
  command.add_flag("--quiet", options.quiet, "No notices")->group(kOutputGroup);
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("diff", "Show what changed between two files of results");
  auto options = std::make_shared<DiffCommand>();
  add_compared(*command, *options);
  add_output(*command, *options);
  command->footer(
      "Example: headgauge diff before/results.json after/results.json\n"
      "         headgauge diff before after --limits limits.json --quiet");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
