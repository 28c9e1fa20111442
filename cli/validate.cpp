// headgauge validate: finds metrics of a head that predict the change of the loss when the head is
// changed.
#include "headgauge/validate.hpp"

#include <memory>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/tables.hpp"

namespace headgauge::cli {
namespace {

struct ValidateCommand {
  RunOptions run;
  ValidateRequest request;
  int top = kUsualTop;
};

int run(ValidateCommand& options) {
  RunSteps steps;
  steps.measure = [&](Session& session) { return session.validate(options.request); };
  steps.table = [&](const Results& results, const TableOptions& terminal) {
    TableOptions table = terminal;
    table.top = options.top;
    return render_tables(results, table);
  };
  return run_measurement(options.run, steps);
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "validate", "Find which metrics predict the change of the loss when a head changes");
  auto options = std::make_shared<ValidateCommand>();
  options->run.input.add_to(*command);
  add_options(*command, options_of(options->request));
  add_options(*command, options_of(options->run.output));
  add_options(*command, {shard_option(options->run.shard)});
  Option top = top_option(options->top);
  top.help = "Show the first K metrics of the table (default {})";
  add_options(*command, {top});
  command->footer("Example: headgauge validate demo/model --text a.txt b.txt c.txt --out validity");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
