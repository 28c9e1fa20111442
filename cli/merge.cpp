// headgauge merge: joins the results of shards that were computed separately.
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/tables.hpp"
#include "headgauge/session.hpp"

namespace headgauge::cli {
namespace {

struct MergeCommand {
  std::vector<std::string> folders;
  RunOptions run;
};

// Renders the table of the command that produced the shards.
std::string render(const Results& results, TableOptions table) {
  if (results.command == Command::scan) return render_table(results, table);
  if (results.command == Command::validate) table.top = kUsualTop;
  return render_tables(results, table);
}

int run(const MergeCommand& options) {
  RunSteps steps;
  steps.table = render;
  steps.measure = [](Session& session) { return session.merged(); };
  return run_measurement(options.run, steps, [&](Run run) {
    return Session::of_shards(options.folders, std::move(run));
  });
}

}  // namespace

void add_merge(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("merge", "Join the shards that runs with --shard have computed");
  auto options = std::make_shared<MergeCommand>();
  command->add_option("DIR", options->folders, "Folders of the shards (their --out)")
      ->required()
      ->option_text("...");
  add_options(*command, options_of(options->run.output));
  command->footer(
      "Example: headgauge scan gpt2 --text *.txt --shard 1/2 --out part1\n"
      "         headgauge scan gpt2 --text *.txt --shard 2/2 --out part2\n"
      "         headgauge merge part1 part2 --out results");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
