// headgauge merge: the results of shards that were computed apart.
#include <memory>

#include "cli/commands.hpp"
#include "cli/host.hpp"
#include "cli/options.hpp"
#include "cli/present_command.hpp"
#include "cli/run.hpp"
#include "cli/run_journal.hpp"

namespace headgauge::cli {
namespace {

struct MergeCommand {
  std::vector<std::string> folders;
  OutputOptions output;
};

int run(const MergeCommand& options) {
  const std::unique_ptr<Journal> shards = Journal::merge(options.folders);
  std::vector<std::string> words = words_of(shards->identity());
  if (!options.output.out.empty()) words.insert(words.end(), {"--out", options.output.out});
  if (options.output.json) words.emplace_back("--json");
  if (options.output.quiet) words.emplace_back("--quiet");
  const Merging merging(*shards);
  Host* const program = host();
  return program != nullptr ? run_command(words, *program) : run_command(words);
}

}  // namespace

void add_merge(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("merge", "Join the shards that runs with --shard have computed");
  auto options = std::make_shared<MergeCommand>();
  command->add_option("DIR", options->folders, "Folders of the shards (their --out)")
      ->required()
      ->option_text("...");
  add_options(*command, options_of(options->output));
  command->footer(
      "Example: headgauge scan gpt2 --text *.txt --shard 1/2 --out part1\n"
      "         headgauge scan gpt2 --text *.txt --shard 2/2 --out part2\n"
      "         headgauge merge part1 part2 --out results");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
