// headgauge series: joins the results of several checkpoints, and shows which heads changed.
#include "headgauge/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/run_lines.hpp"
#include "cli/stop.hpp"
#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/terminal.hpp"
#include "cli/usage.hpp"
#include "headgauge/session.hpp"

namespace headgauge::cli {
namespace {

struct SeriesCommand {
  std::vector<std::string> files;
  SeriesOptions options;
  OutputOptions output;
  int top = 20;  // 0: all
};

std::string render_series(const Results& results, const TableOptions& options) {
  std::vector<std::string> labels;
  for (const double step : results.coord_numbers("step")) {
    labels.push_back(fmt::format("step {}", step));
  }
  std::string out =
      run_lines(labels, results.settings["runs"], Painter(options.color), options.width) + "\n";
  for (const SummaryLine& line : results.summary) {
    out += wrapped(line.text, options.width, 0) + "\n";
  }
  const std::string tables = render_view(results, options);
  return tables.empty() ? out : out + "\n" + tables;
}

int run(SeriesCommand& command) {
  const auto signal = end_on_signal();
  require_unread_results(command.output.out, command.files);
  std::vector<std::vector<Results>> runs;
  for (std::string& file : command.files) runs.push_back(read_runs(file));
  const Results results = joined(runs, command.files, command.options);
  signal->loaded();
  TableOptions table = table_on_output();
  table.top = command.top;
  show_read(results, command.output, render_series(results, table));
  return 0;
}

}  // namespace

void add_series(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "series", "Join the results of several checkpoints, and show which heads changed");
  auto options = std::make_shared<SeriesCommand>();
  command
      ->add_option("RESULTS", options->files,
                   "results.json files, their folders, or folders of such folders, one a text")
      ->required()
      ->option_text("...");
  add_options(*command, options_of(options->options));
  add_options(*command, options_of(options->output,
                                   "Folder for results.json and heads.csv; created if missing",
                                   "Print no notices"));
  add_options(*command, {lines_option(options->top, "SeriesCommand")});
  command->footer(
      "Example: headgauge series scan-100 scan-1000 scan-10000 --out series\n"
      "         headgauge report series");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
