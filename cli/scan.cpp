// headgauge scan: measure every head, print the table, write the files.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/out_folder.hpp"
#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "cli/stop.hpp"
#include "cli/table.hpp"
#include "cli/table_style.hpp"
#include "cli/usage.hpp"
#include "headgauge/measure.hpp"
#include "headgauge/scan.hpp"
#include "scan/summary.hpp"

namespace headgauge::cli {
namespace {

struct ScanCommand {
  InputOptions input;
  ScanOptions scan;
  std::string top_n = "1,5,10,20,100";
  std::string direction = "random";
  std::string queries;
  std::string out;
  bool json = false;
  bool quiet = false;
  int top = 0;
  std::string sort;
};

constexpr const char* kWhat = "What is measured";
constexpr const char* kSensitivity = "Sensitivity";
constexpr const char* kCritical = "Distances and critical N";
constexpr const char* kRunning = "Running";
constexpr const char* kOutput = "Output";

void add_choices(CLI::App& command, ScanCommand& options) {
  command
      .add_option("--top-n", options.top_n, "Sizes of the selected sets (default 1,5,10,20,100)")
      ->option_text("N,N...")
      ->group(kWhat);
  command
      .add_option("--measures", options.scan.measures,
                  "Groups of metrics: weights, distance, separability, sensitivity,\n"
                  "cooperation, counterfactual, model (default: all that there can be)")
      ->option_text("GROUP,GROUP...")
      ->delimiter(',')
      ->group(kWhat);
  command.add_option("--layers", options.scan.layers, "Only these layers, such as 0-3,5")
      ->option_text("LIST")
      ->check(some_text("layers such as 0-3,5"))
      ->group(kWhat);
  command.add_option("--heads", options.scan.heads, "Only these heads, as layer.head: 3.5,7.*")
      ->option_text("LIST")
      ->check(some_text("heads such as 3.5,7.*"))
      ->group(kWhat);
  command
      .add_option("--normalizer", options.scan.normalizer,
                  "The rule from scores to weights (default softmax); headgauge normalizers\n"
                  "lists them")
      ->option_text("NAME[:KEY=VALUE]")
      ->group(kWhat);
  command
      .add_option("--pattern", options.scan.pattern,
                  "Leave a query only some of its keys (default none); headgauge patterns\n"
                  "lists how")
      ->option_text("NAME[:KEY=VALUE]")
      ->group(kWhat);
  command
      .add_option("--queries", options.queries,
                  "Rows measured in each position bin (default: all up to length 8192,\n"
                  "else 64)")
      ->option_text("K|all")
      ->group(kWhat);
}

void add_details(CLI::App& command, ScanCommand& options) {
  MeasureOptions& measure = options.scan.measure;
  command
      .add_option("--direction", options.direction,
                  "Where the logits are moved: random (the paper's, the default) or top2\n"
                  "(the two largest apart)")
      ->option_text("random|top2")
      ->check(one_of({"random", "top2"}))
      ->group(kSensitivity);
  command
      .add_option("--temperatures", measure.temperatures,
                  "Temperatures (default: 31 from 0.01 to 10)")
      ->option_text("T,T...")
      ->delimiter(',')
      ->check(positive_number())
      ->group(kSensitivity);
  command.add_option("--epsilons", measure.epsilons, "Sizes of the step (default 0.001,0.1,10)")
      ->option_text("E,E...")
      ->delimiter(',')
      ->check(positive_number())
      ->group(kSensitivity);
  command
      .add_option("--critical-max", measure.critical_max,
                  "Largest N searched for critical N (default 128)")
      ->option_text("N")
      ->check(whole_number(1))
      ->group(kCritical);
  command
      .add_option("--critical-level", measure.critical_level,
                  "Level of its Kolmogorov-Smirnov test (default 0.01)")
      ->option_text("P")
      ->check(positive_number(1))
      ->group(kCritical);
  command
      .add_option("--unit-sphere", measure.unit_sphere,
                  "Separability on vectors scaled to length 1, as the theorem assumes\n"
                  "(default true)")
      ->option_text("true|false")
      ->check(one_of({"true", "false"}))
      ->group(kCritical);
  command
      .add_option("--expected-draws", measure.expected_draws,
                  "Check the expected distance against this many random sets per row\n"
                  "(default 0: off)")
      ->option_text("K")
      ->check(whole_number(0))
      ->group(kCritical);
}

void add_output(CLI::App& command, ScanCommand& options) {
  command.add_option("--seed", options.scan.seed, "Seed of every random draw (default 0)")
      ->option_text("S")
      ->check(seed_number())
      ->group(kRunning);
  command
      .add_option("--out", options.out, "Folder for results.json and heads.csv; made if need be")
      ->option_text("DIR")
      ->check(some_text("a folder"))
      ->group(kOutput);
  command.add_flag("--json", options.json, "Print results.json in place of the table")
      ->group(kOutput);
  command.add_option("--top", options.top, "Show only the first K heads of the table")
      ->option_text("K")
      ->check(whole_number(1))
      ->group(kOutput);
  command
      .add_option("--sort", options.sort,
                  "Sort the table by this metric, largest first; headgauge measures lists\n"
                  "them")
      ->option_text("METRIC")
      ->check(some_text("a metric"))
      ->group(kOutput);
  command.add_flag("--quiet", options.quiet, "No progress and no notices")->group(kOutput);
}

void resolve(ScanCommand& options) {
  options.input.resolve();
  ScanOptions& scan = options.scan;
  scan.lengths = options.input.lengths;
  scan.x = options.input.x_source();
  scan.threads = options.input.threads;
  scan.measure.top_n = parse_integers(options.top_n, "--top-n");
  scan.measure.direction = options.direction == "random" ? MeasureOptions::Direction::random
                                                         : MeasureOptions::Direction::top2;
  if (options.queries == "all") {
    scan.queries = 0;
  } else if (!options.queries.empty()) {
    const std::string unfit = whole_number(1)(options.queries);
    if (!unfit.empty()) {
      throw UsageError("--queries: " + unfit + "; give all, or a number");
    }
    scan.queries = std::stoi(options.queries);
  }
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
  for (const char* dim : {"layer", "head", "length", "temperature", "epsilon"}) {
    results.set_coord(dim, std::vector<double>{});
  }
  for (const auto& measure : make_measures(scan.measures, measure_options, source, 1)) {
    for (const MetricInfo& metric : measure->metrics()) {
      std::vector<std::string> dims;
      if (metric.kind == MetricKind::row_mean) dims = {"layer", "head", "length"};
      if (metric.kind == MetricKind::row_longest) dims = {"layer", "head"};
      if (metric.kind == MetricKind::hidden) continue;
      dims.insert(dims.end(), metric.dims.begin(), metric.dims.end());
      results.add_metric(metric.name, dims, metric.unit);
    }
  }
  require_sortable(results, sort);
}

// The width of the terminal that a stream is, if it is one.
std::optional<std::size_t> terminal_width(int descriptor) {
  if (isatty(descriptor) == 0) return std::nullopt;
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : std::size_t{80};
}

void print_table(const Results& results, const ScanCommand& options) {
  const auto width = terminal_width(STDOUT_FILENO);
  TableOptions table;
  const char* no_color = std::getenv("NO_COLOR");
  table.color = width.has_value() && (no_color == nullptr || *no_color == '\0');
  if (width) table.width = std::min(*width, kTableWidth);
  table.top = options.top;
  table.sort = options.sort;
  print_text(render_table(results, table));
  for (const std::string& line : summarize(results)) {
    // Broken between words on a terminal; a line each where something else reads them.
    print_text((width ? wrapped(line, table.width, 2) : line) + "\n");
  }
  if (!options.out.empty()) {
    print("\nWritten: {}, {}\n", results_path(options.out), heads_csv_path(options.out));
  }
}

[[noreturn]] void report_interruption(const Results& results, const std::string& out) {
  const std::string layers = fmt::format("{} {}", results.layers_done,
                                         results.layers_done == 1 ? "layer was" : "layers were");
  if (results.layers_done == 0) {
    throw InterruptedError("interrupted before the first layer was finished; nothing was saved");
  }
  if (out.empty()) {
    throw InterruptedError("interrupted; " + layers +
                           " finished but not saved, there being no --out");
  }
  throw InterruptedError("interrupted; " + layers + " finished and saved in " + results_path(out) +
                         ", marked partial");
}

int run(ScanCommand& options) {
  resolve(options);
  const auto width = terminal_width(STDERR_FILENO);
  std::optional<StopOnSignal> signal(std::in_place, width.has_value() && !options.quiet);
  std::optional<OutFolder> folder;
  if (!options.out.empty()) folder.emplace(options.out);
  const auto source = open_source(options.input);
  check_sort(options.scan, source->info(), options.sort);
  ProgressBar progress(stderr, width.has_value(), static_cast<int>(width.value_or(80)));
  Results results =
      scan(*source, options.scan, options.quiet ? nullptr : &progress, signal->token());
  progress.clear();
  results.settings["text"] = options.input.texts;
  results.settings["tokens"] = options.input.tokens;
  results.settings["out"] = options.out;
  results.settings["json"] = options.json;
  if (options.top > 0) {
    results.settings["top"] = options.top;
  } else {
    results.settings["top"] = "all";
  }
  results.settings["sort"] = options.sort;
  results.settings["quiet"] = options.quiet;

  if (source->info().family == "dump" && options.input.has_text()) {
    results.notices.push_back("--text and --tokens were not read: a dump holds its own queries");
  }

  signal->hold();
  const bool nothing = results.partial && results.layers_done == 0;
  if (folder && !nothing) folder->save(results);
  if (results.partial) report_interruption(results, options.out);
  // All is safe; from here on Ctrl-C just ends the printing.
  signal.reset();
  if (options.json) {
    print_text(results_text(results));
  } else {
    print_table(results, options);
  }
  flush_text();
  if (!options.quiet) {
    for (const std::string& notice : results.notices) {
      fmt::print(stderr, "headgauge: note: {}\n", notice);
    }
  }
  return 0;
}

}  // namespace

void add_scan(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("scan", "Measure every head of a model on a text");
  auto options = std::make_shared<ScanCommand>();
  options->input.add_to(*command);
  add_choices(*command, *options);
  add_details(*command, *options);
  add_output(*command, *options);
  command->footer(
      "Example: headgauge scan demo/model --text demo/text.txt --out demo/out\n"
      "         headgauge scan gpt2 --text book.txt --measures weights --sort entropy --top 20");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
