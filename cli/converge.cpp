// headgauge converge: how much context a head needs.
#include "headgauge/converge.hpp"

#include <memory>
#include <string>

#include "cli/calibrated.hpp"
#include "cli/commands.hpp"
#include "cli/converge_table.hpp"
#include "cli/options.hpp"
#include "cli/planned.hpp"
#include "cli/run.hpp"
#include "cli/run_journal.hpp"
#include "cli/synthetic.hpp"
#include "cli/terminal.hpp"

namespace headgauge::cli {
namespace {

struct ConvergeCommand {
  RunOptions run;
  ConvergeOptions converge;
  SyntheticCommand synthetic;
  int top = 0;
  PlanInput plan;
  CalibrationCommand calibration;
};

int run(const CLI::App& command, ConvergeCommand& options) {
  if (options.synthetic.chosen()) {
    return options.synthetic.run(command, options.run, options.converge);
  }
  options.synthetic.refuse(command);
  ConvergeOptions& converge = options.converge;
  options.run.input.take(converge.scan);
  options.run.input.asked_by = "converge";
  options.run.input.read_again = options.calibration.asked();
  RunSteps steps;
  steps.journaled = &converge.scan;
  steps.open = [&](const InputOptions& input) {
    auto source = open_source(input);
    options.calibration.check(options.run, converge.scan, *source, options.plan.file);
    return source;
  };
  steps.measure = [&](HeadSource& source, Progress* progress, std::stop_token stop) {
    if (options.plan.file.empty()) {
      Results results = headgauge::converge(source, converge, progress, stop);
      // What is chosen by all results is measured where they are.
      if (converge.scan.journal != nullptr && !converge.scan.journal->has_results()) return results;
      ScanOptions scan = converge.scan;
      scan.journal = nullptr;
      options.calibration.run(options.run, scan, results, progress, stop);
      return results;
    }
    options.plan.apply(source, converge.scan);
    ConvergeOptions unchanged = converge;
    if (!converge.scan.heads.empty() || !converge.scan.layers.empty()) {
      throw UsageError(fault("--plan", "the heads that the plan leaves as they are",
                             "--layers or --heads beside it", "leave one of the two out"));
    }
    unchanged.scan.heads = options.plan.unchanged_heads(source);
    Results results = headgauge::converge(source, unchanged, progress, stop);
    results.notices.emplace_back(
        "the model runs under the plan; only heads that it leaves as they are were measured");
    return results;
  };
  steps.complete = [&](Results& results) {
    write_settings({top_option(options.top)}, results.settings);
    options.plan.describe("ConvergeCommand", results);
    write_settings(options.calibration.options(), results.settings);
  };
  steps.table = [&](const Results& results, const TableOptions& terminal) {
    TableOptions table = terminal;
    table.top = options.top;
    return render_convergence(results, table) + render_calibration(results, table);
  };
  std::vector<std::string> notices;
  steps.saved = [&](const Results&) {
    const std::string& out = options.run.output.out;
    auto written = options.calibration.save(out);
    if (options.calibration.asked()) notices = older_plans(out, written);
    return written;
  };
  steps.finished = finished_layers;
  const int code = run_measurement(options.run, steps);
  if (!options.run.output.quiet) print_notices(notices);
  return code;
}

}  // namespace

void add_converge(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("converge", "Measure how much context every head needs");
  auto options = std::make_shared<ConvergeCommand>();
  options->run.input.add_to(*command);
  add_options(*command, options_of(options->converge));
  add_options(*command, {options->plan.option("ConvergeCommand")});
  add_options(*command, options->calibration.options());
  add_options(*command, options_of(options->run.output));
  add_options(*command, {shard_option(options->run.shard)});
  add_options(*command, {top_option(options->top)});
  command->footer(
      "Example: headgauge converge demo/model --text demo/text.txt --out demo/out\n"
      "         headgauge converge gpt2 --text book.txt --lengths 1024 --replicates 200\n"
      "         headgauge converge --synthetic gaussian --out gaussian");
  options->synthetic.add_to(*command);
  command->callback([=, &action] { action = [=] { return run(*command, *options); }; });
}

}  // namespace headgauge::cli
