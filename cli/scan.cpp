// headgauge scan: measure every head, print the table, write the files.
#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "cli/usage.hpp"
#include "headgauge/measure.hpp"

namespace headgauge::cli {
namespace {

struct ScanCommand {
  RunOptions run;
  int top = 0;
  std::string sort;
};

void add_own(CLI::App& command, ScanCommand& options) {
  command
      .add_option("--normalizer", options.run.scan.normalizer,
                  "The rule from scores to weights (default softmax); headgauge normalizers\n"
                  "lists them")
      ->option_text("NAME[:KEY=VALUE]")
      ->group(kWhatGroup);
  command
      .add_option("--pattern", options.run.scan.pattern,
                  "Leave a query only some of its keys (default none); headgauge patterns\n"
                  "lists how")
      ->option_text("NAME[:KEY=VALUE]")
      ->group(kWhatGroup);
  command.add_option("--top", options.top, "Show only the first K heads of the table")
      ->option_text("K")
      ->check(whole_number(1))
      ->group(kOutputGroup);
  command
      .add_option("--sort", options.sort,
                  "Sort the table by this metric, largest first; headgauge measures lists\n"
                  "them")
      ->option_text("METRIC")
      ->check(some_text("a metric"))
      ->group(kOutputGroup);
}

// Refuses a --sort that the table could not follow, before the work begins: what the results will
// hold is known from the measures.
void check_sort(const ScanOptions& scan, const SourceInfo& source, const std::string& sort) {
  if (sort.empty()) return;
  MeasureOptions measure_options = scan.measure;
  measure_options.masked = scan.pattern != "none";
  Results results;
  results.set_coord("top_n", std::vector<double>(scan.measure.top_n.begin(),  //
                                                 scan.measure.top_n.end()));
  for (const char* dim : {"layer", "head", "length", "temperature", "epsilon", "forecast_length"}) {
    results.set_coord(dim, std::vector<double>{});
  }
  const auto measures = make_measures(scan.measures, measure_options, source, 1);
  for (const MetricInfo& metric : declared_metrics(measures)) {
    if (metric.kind == MetricKind::hidden || metric.kind == MetricKind::passed_on) continue;
    results.add_metric(metric.name, metric.all_dims(), metric.unit);
  }
  require_sortable(results, sort);
}

int run(ScanCommand& options) {
  options.run.resolve();
  RunSteps steps;
  steps.measure = [&](HeadSource& source, Progress* progress, std::stop_token stop) {
    check_sort(options.run.scan, source.info(), options.sort);
    return scan(source, options.run.scan, progress, std::move(stop));
  };
  steps.complete = [&](Results& results) {
    set_top(options.top, results);
    results.settings["sort"] = options.sort;
  };
  steps.table = [&](const Results& results, const TableOptions& terminal) {
    TableOptions table = terminal;
    table.top = options.top;
    table.sort = options.sort;
    return render_table(results, table);
  };
  steps.finished = finished_layers;
  return run_measurement(options.run, steps);
}

}  // namespace

void add_scan(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("scan", "Measure every head of a model on a text");
  auto options = std::make_shared<ScanCommand>();
  options->run.input.add_to(*command);
  options->run.add_selection_to(*command, "Only these layers, such as 0-3,5",
                                "Only these heads, as layer.head: 3.5,7.*", kWhatGroup);
  options->run.add_to(*command);
  add_own(*command, *options);
  command->footer(
      "Example: headgauge scan demo/model --text demo/text.txt --out demo/out\n"
      "         headgauge scan gpt2 --text book.txt --measures weights --sort entropy --top 20");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
