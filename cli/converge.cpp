// headgauge converge: how much context a head needs.
#include "headgauge/converge.hpp"

#include <memory>
#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "cli/converge_table.hpp"
#include "cli/run.hpp"
#include "cli/synthetic.hpp"
#include "cli/usage.hpp"

namespace headgauge::cli {
namespace {

struct ConvergeCommand {
  RunOptions run;
  ConvergeOptions converge;
  SyntheticCommand synthetic;
  std::optional<std::string> grid;
  int top = 0;
};

constexpr const char* kDrawn = "What is drawn";

void add_own(CLI::App& command, ConvergeCommand& options) {
  ConvergeOptions& converge = options.converge;
  command
      .add_option("--grid", options.grid,
                  "Numbers of tokens that are drawn, such as 64,128,256 (default: --points\n"
                  "geometric ones from L/8 to 3L/4, L the longest length)")
      ->option_text("N,N...")
      ->group(kDrawn);
  command
      .add_option("--points", converge.points, "How many points the default grid has (default 10)")
      ->option_text("P")
      ->check(whole_number(1))
      ->group(kDrawn);
  command
      .add_option("--replicates", converge.replicates,
                  "Subsamples at each number of tokens (default 500)")
      ->option_text("K")
      ->check(whole_number(2))
      ->group(kDrawn);
  command
      .add_option("--draws", converge.draws,
                  "Random sets of keys for the budget of uniform keys (default 32)")
      ->option_text("K")
      ->check(whole_number(1))
      ->group(kDrawn);
  command
      .add_option("--tolerances", converge.tolerances,
                  "Relative errors of the output that a key budget allows; 0.05 is always\n"
                  "among them (default 0.01,0.05,0.1)")
      ->option_text("T,T...")
      ->delimiter(',')
      ->check(positive_number())
      ->group(kDrawn);
  command
      .add_option("--normalizer", options.run.scan.normalizer,
                  "The rule from scores to weights (default softmax); headgauge normalizers\n"
                  "lists them")
      ->option_text("NAME[:KEY=VALUE]")
      ->group(kWhatGroup);
  command.add_option("--top", options.top, "Show only the first K heads of the table")
      ->option_text("K")
      ->check(whole_number(1))
      ->group(kOutputGroup);
}

int run(const CLI::App& command, ConvergeCommand& options) {
  if (options.synthetic.chosen()) {
    return options.synthetic.run(command, options.run, options.grid, options.converge);
  }
  options.synthetic.refuse(command);
  options.run.input.asked_by = "converge";
  options.run.resolve();
  ConvergeOptions& converge = options.converge;
  converge.scan = options.run.scan;
  if (options.grid) {
    if (command.get_option("--points")->count() > 0) {
      throw UsageError(fault("--points", "the default grid", "--grid", "leave one of the two out"));
    }
    converge.grid = parse_integers(*options.grid, "--grid");
  }
  RunSteps steps;
  steps.measure = [&](HeadSource& source, Progress* progress, std::stop_token stop) {
    return headgauge::converge(source, converge, progress, std::move(stop));
  };
  steps.complete = [&](Results& results) { set_top(options.top, results); };
  steps.table = [&](const Results& results, const TableOptions& terminal) {
    TableOptions table = terminal;
    table.top = options.top;
    return render_convergence(results, table);
  };
  steps.finished = finished_layers;
  return run_measurement(options.run, steps);
}

}  // namespace

void add_converge(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("converge", "Tell how much context every head needs");
  auto options = std::make_shared<ConvergeCommand>();
  options->run.input.add_to(*command);
  options->run.add_selection_to(*command, "Only these layers, such as 0-3,5",
                                "Only these heads, as layer.head: 3.5,7.*", kWhatGroup);
  options->run.add_to(*command, "weights, distance, separability, dispersion");
  add_own(*command, *options);
  command->footer(
      "Example: headgauge converge demo/model --text demo/text.txt --out demo/out\n"
      "         headgauge converge gpt2 --text book.txt --lengths 1024 --replicates 200\n"
      "         headgauge converge --synthetic gaussian --out gaussian");
  options->synthetic.add_to(*command);
  command->callback([=, &action] { action = [=] { return run(*command, *options); }; });
}

}  // namespace headgauge::cli
