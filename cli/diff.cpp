// headgauge diff: what changed between two files of results, and whether limits hold.
#include "headgauge/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "cli/run_lines.hpp"
#include "cli/stop.hpp"
#include "cli/tables.hpp"
#include "cli/terminal.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/session.hpp"

namespace headgauge::cli {
namespace {

constexpr int kLimitExceeded = 1;  // exit code

struct DiffCommand {
  std::string before;
  std::string after;
  DiffRequest request;
  OutputOptions output{.look = {.top = 20}};
};

std::string limits_hold(std::span<const LimitCheck> checks) {
  std::int64_t values = 0, unchecked = 0;
  for (const LimitCheck& check : checks) {
    values += check.values;
    unchecked += check.unchecked;
  }
  const std::string all =
      checks.size() == 1 ? "the limit holds" : fmt::format("all {} limits hold", checks.size());
  return fmt::format(
      "{} ({} value{} checked{})", all, values, values == 1 ? "" : "s",
      unchecked > 0 ? fmt::format("; {} undefined in the old file were not", unchecked) : "");
}

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
  show_read(results, command.output, verdict);
  return !found.exceeded.empty() ? kLimitExceeded : 0;
}

}  // namespace

void add_diff(CommandNode& app) {
  const auto o = std::make_shared<DiffCommand>();
  app.add(
      {.name = "diff",
       .about = "Show what changed between two files of results",
       .example = "Example: headgauge diff before/results.json after/results.json\n"
                  "         headgauge diff before after --limits limits.json --quiet",
       .operands = {{.name = "OLD",
                     .help = "A results.json, its folder, or a folder of such folders, one a text",
                     .value = &o->before,
                     .expects = "a file or folder"},
                    {.name = "NEW",
                     .help = "The results to compare with OLD",
                     .value = &o->after,
                     .expects = "a file or folder"}},
       .options = join_options({options_of(o->request), reading_options(o->output)}),
       .run = [=](const CommandNode&) { return run(*o); }});
}

}  // namespace headgauge::cli
