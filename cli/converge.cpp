// headgauge converge: how much context a head needs.
#include "headgauge/converge.hpp"

#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/synthetic.hpp"
#include "cli/tables.hpp"

namespace headgauge::cli {
namespace {

struct ConvergeCommand {
  RunOptions run;
  ConvergeRequest request;
  SyntheticCommand synthetic;
  int top = 0;
};

int run(const CLI::App& command, ConvergeCommand& options) {
  if (options.synthetic.chosen()) {
    return options.synthetic.run(command, options.run, options.request.options);
  }
  options.synthetic.refuse(command);
  RunSteps steps;
  steps.measure = [&](Session& session) { return session.converge(options.request); };
  steps.table = [&](const Results& results, const TableOptions& terminal) {
    TableOptions table = terminal;
    table.top = options.top;
    return render_convergence(results, table);
  };
  return run_measurement(options.run, steps);
}

}  // namespace

void add_converge(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("converge", "Measure how much context every head needs");
  auto options = std::make_shared<ConvergeCommand>();
  options->run.input.add_to(*command);
  add_options(*command, options_of(options->request));
  add_options(*command, options_of(options->run.output));
  add_options(*command, {shard_option(options->run.shard)});
  add_options(*command, {top_option(options->top)});
  command->footer(
      "Example: headgauge converge demo/model --text demo/text.txt --out demo/converge\n"
      "         headgauge converge gpt2 --text book.txt --lengths 1024 --replicates 200\n"
      "         headgauge converge --synthetic gaussian --out gaussian");
  options->synthetic.add_to(*command);
  command->callback([=, &action] { action = [=] { return run(*command, *options); }; });
}

}  // namespace headgauge::cli
