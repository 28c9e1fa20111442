// headgauge compare: change the normalizer or the pattern of attention, and measure again.
#include "headgauge/compare.hpp"

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/tables.hpp"

namespace headgauge::cli {
namespace {

struct CompareCommand {
  RunOptions run;
  CompareRequest request;
};

int run(CompareCommand& options) {
  options.run.input.set_kind(options.request.confirm);
  RunSteps steps;
  steps.measure = [&](Session& session) { return session.compare(options.request); };
  steps.table = render_tables;
  return run_measurement(options.run, steps);
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "compare", "Change the normalizer or pattern of attention, and measure again");
  auto options = std::make_shared<CompareCommand>();
  const std::vector<Option> all = options_of(options->request);
  const std::vector<std::string> first = {"normalizer", "pattern", "each", "plan",
                                          "confirm",    "layers",  "heads"};
  add_options(*command, only(all, first));
  options->run.input.add_to(*command);
  add_options(*command, without(all, first));
  add_options(*command, options_of(options->run.output));
  add_options(*command, {shard_option(options->run.shard)});
  command->footer(
      "Example: headgauge compare demo/model --text demo/text.txt --normalizer ssmax,sparsemax\n"
      "         headgauge compare gpt2 --text book.txt --each head --normalizer softmax1,ssmax\n"
      "         headgauge compare gpt2 --text book.txt --pattern sinks:window=256");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
