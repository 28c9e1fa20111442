// headgauge merge: joins the results of shards that were computed separately.
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "headgauge/session.hpp"

namespace headgauge::cli {
namespace {

struct MergeCommand {
  std::vector<std::string> folders;
  RunOptions run;
};

int run(const MergeCommand& options) {
  return run_measurement(
      options.run,
      {.measure = [](Session& session) { return session.merged(); },
       .open = [&](Run run) { return Session::of_shards(options.folders, std::move(run)); }});
}

}  // namespace

void add_merge(CommandNode& app) {
  const auto o = std::make_shared<MergeCommand>();
  app.add({.name = "merge",
           .about = "Join the shards that runs with --shard have computed",
           .example = "Example: headgauge scan gpt2 --text *.txt --shard 1/2 --out part1\n"
                      "         headgauge scan gpt2 --text *.txt --shard 2/2 --out part2\n"
                      "         headgauge merge part1 part2 --out results",
           .operands = {{.name = "DIR",
                         .help = "Folders of the shards (their --out)",
                         .value = &o->folders}},
           .options = options_of(o->run.output),
           .run = [=](const CommandNode&) { return run(*o); }});
}

}  // namespace headgauge::cli
