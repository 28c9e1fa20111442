// headgauge series: joins the results of several checkpoints, and shows which heads changed.
#include "headgauge/series.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "cli/run_lines.hpp"
#include "cli/stop.hpp"
#include "cli/tables.hpp"
#include "cli/terminal.hpp"
#include "headgauge/session.hpp"

namespace headgauge::cli {
namespace {

struct SeriesCommand {
  std::vector<std::string> files;
  SeriesOptions options;
  OutputOptions output{.look = {.top = 20}};
};

int run(SeriesCommand& command) {
  const auto signal = end_on_signal();
  require_unread_results(command.output.out, command.files);
  std::vector<std::vector<Results>> runs;
  for (std::string& file : command.files) runs.push_back(read_runs(file));
  const Results results = joined(runs, command.files, command.options);
  signal->loaded();
  show_read(results, command.output);
  return 0;
}

}  // namespace

void add_series(CommandNode& app) {
  const auto o = std::make_shared<SeriesCommand>();
  app.add({.name = "series",
           .about = "Join the results of several checkpoints, and show which heads changed",
           .example = "Example: headgauge series scan-100 scan-1000 scan-10000 --out series\n"
                      "         headgauge report series",
           .operands = {{.name = "RESULTS",
                         .help = "results.json files, their folders, or folders of such folders, "
                                 "one a text",
                         .value = &o->files}},
           .options = join_options({options_of(o->options), reading_options(o->output)}),
           .run = [=](const CommandNode&) { return run(*o); }});
}

}  // namespace headgauge::cli
