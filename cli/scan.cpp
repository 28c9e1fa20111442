// headgauge scan: measures every head, prints the table and writes the files.
#include "headgauge/scan.hpp"

#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "cli/tables.hpp"

namespace headgauge::cli {
namespace {

struct ScanCommand {
  RunOptions run;
  ScanRequest request;
};

// Throws for an invalid --sort before the work begins.
void check_sort(const ScanOptions& scan, const SourceInfo& source, const std::string& sort) {
  if (sort.empty()) return;
  Results results;
  results.set_coord("top_n", std::vector<double>(scan.measure.top_n.begin(),  //
                                                 scan.measure.top_n.end()));
  for (const MetricInfo& metric : scan_metrics(scan, source)) {
    for (const std::string& dim : metric.all_dims()) {
      if (results.coord(dim) == nullptr) results.set_coord(dim, std::vector<double>{});
    }
    results.add_metric(metric.name, metric.all_dims(), metric.unit);
  }
  require_sortable(results, sort);
}

int run(ScanCommand& options) {
  RunSteps steps;
  steps.check = [&](const SourceInfo& source) {
    check_sort(options.request.options, source, options.run.output.look.sort);
  };
  steps.measure = [&](Session& session) { return session.scan(options.request); };
  return run_measurement(options.run, steps);
}

}  // namespace

void add_scan(CommandNode& app) {
  const auto o = std::make_shared<ScanCommand>();
  app.add(
      {.name = "scan",
       .about = "Measure every head of a model on a text",
       .example = "Example: headgauge scan demo/model --text demo/text.txt --out demo/out\n"
                  "         headgauge scan gpt2 --text book.txt --measures weights --sort entropy "
                  "--top 20",
       .operands = {model_operand(o->run.input)},
       .options =
           join_options({options_of(o->run.input), options_of(o->request),
                         options_of(o->run.output), run_options(o->run, true),
                         declared_options("ScanCommand", {{"all", &o->run.output.look.all},
                                                          {"sort", &o->run.output.look.sort}})}),
       .run = [=](const CommandNode&) { return run(*o); }});
}

}  // namespace headgauge::cli
