// headgauge series: joins the results of several checkpoints, and shows which heads changed.
#include "headgauge/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "cli/run_lines.hpp"
#include "cli/stop.hpp"
#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/terminal.hpp"
#include "cli/text_table.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/session.hpp"

namespace headgauge::cli {
namespace {

struct SeriesCommand {
  std::vector<std::string> files;
  SeriesOptions options;
  OutputOptions output;
  int top = 20;  // 0: all
};

// A head whose metric is shown to change.
struct Row {
  std::string metric, head;
  double first = kUndefined, last = kUndefined, half = kUndefined;
  Estimate change, slope;
};

std::vector<Row> changed_rows(const Results& results, double level) {
  const auto names = results.coord_names("series_metric");
  const LabelledArray& changes = results.require_metric(metric::series_change);
  std::vector<Row> rows;
  changes.each([&](std::span<const Index> at, std::size_t place) {
    if (!(changes.at_offset(place).p < level)) return;
    Row row;
    row.metric = names[at[2]];
    row.head = fmt::format("{}.{}", results.coord_numbers("layer")[at[0]],
                           results.coord_numbers("head")[at[1]]);
    const std::vector<Index> cell(at.begin(), at.end());
    row.change = changes.at_offset(place);
    row.slope = results.require_metric(metric::series_slope).at(cell);
    row.half = results.require_metric(metric::series_half_step).values[place];
    const LabelledArray& values = results.require_metric(row.metric);
    const Index steps = results.coord_size("step");
    row.first = values.at({at[0], at[1], 0}).value;
    row.last = values.at({at[0], at[1], steps - 1}).value;
    rows.push_back(std::move(row));
  });
  const auto errors = [](const Row& row) {
    return std::abs(row.change.value) / row.change.standard_error;
  };
  std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) {
    return a.change.p != b.change.p ? a.change.p < b.change.p : errors(a) > errors(b);
  });
  return rows;
}

std::string render(const Results& results, const SeriesCommand& command, TableOptions options) {
  const Painter paint(options.color);
  const std::vector<Row> rows = changed_rows(results, command.options.level);
  std::string out;
  const auto steps = results.coord_numbers("step");
  std::vector<std::string> labels = {"settings"};
  for (const double step : steps) labels.push_back(fmt::format("step {}", step));
  const std::size_t indent = std::ranges::max(labels, {}, &std::string::size).size() + kGap;
  const auto add = [&](const std::string& label, const std::string& text) {
    out += paint.entry(Style::faint, label, text, options.width, indent);
  };
  std::vector<nlohmann::ordered_json> settings;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& run = results.settings["runs"][i];
    settings.push_back(run["settings"]);
    add(labels[i + 1], run_text(run));
  }
  add(labels[0], settings_text(settings));
  out += "\n";
  for (const SummaryLine& line : results.summary) {
    out += wrapped(line.text, options.width, 0) + "\n";
  }
  if (rows.empty()) return out;
  std::vector<TextColumn> columns = {{"p"},
                                     {"head"},
                                     left_column("metric"),
                                     {.title = "first", .rank = 2},
                                     {.title = "last", .rank = 2},
                                     {"change ± se"},
                                     {.title = "per step", .rank = 3},
                                     {.title = "half by step", .rank = 1}};
  for (TextColumn& column : columns) column.gap = kGap;
  TextTable table(paint, columns);
  const std::size_t shown =
      command.top > 0 ? std::min(rows.size(), static_cast<std::size_t>(command.top)) : rows.size();
  for (const Row& row : std::span(rows).first(shown)) {
    table.row({row.change.standard_error > 0 ? fmt::format("{:.1g}", row.change.p) : "exact",
               row.head, row.metric, fmt::format("{:.4g}", row.first),
               fmt::format("{:.4g}", row.last),
               fmt::format("{:+.3g} ± {:.2g}", row.change.value, row.change.standard_error),
               fmt::format("{:+.2g}", row.slope.value),
               std::isnan(row.half) ? "-" : fmt::format("{}", row.half)});
  }
  table.fit(options.width);
  out += "\n" + table.text();
  return out + lines_left(paint, rows.size() - shown);
}

int run(SeriesCommand& command) {
  const auto signal = end_on_signal();
  require_unread_results(command.output.out, command.files);
  std::vector<std::vector<Results>> runs;
  for (std::string& file : command.files) runs.push_back(read_runs(file));
  const Results results = joined(runs, command.files, command.options);
  signal->loaded();
  show_read(results, command.output, render(results, command, table_on_output()));
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
           .options = join_options({options_of(o->options), reading_options(o->output, o->top)}),
           .run = [=](const CommandNode&) { return run(*o); }});
}

}  // namespace headgauge::cli
