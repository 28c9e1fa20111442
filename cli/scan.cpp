// headgauge scan: measure every head, print the table, write the files.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/progress.hpp"
#include "cli/stop.hpp"
#include "cli/table.hpp"
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

void add_options(CLI::App& command, ScanCommand& options) {
  options.input.add_to(command);
  MeasureOptions& measure = options.scan.measure;
  command.add_option("--top-n", options.top_n, "Sizes N of the selected sets")
      ->capture_default_str();
  command
      .add_option("--measures", options.scan.measures,
                  "Groups: weights, distance, separability, sensitivity, cooperation, model "
                  "(default: all that the model allows)")
      ->delimiter(',');
  command.add_option("--layers", options.scan.layers, "Only these layers: 0-3,5");
  command.add_option("--heads", options.scan.heads, "Only these heads, as layer.head: 3.5,7.*");
  command
      .add_option("--normalizer", options.scan.normalizer,
                  "The rule that turns scores to weights; see headgauge normalizers")
      ->capture_default_str();
  command
      .add_option("--direction", options.direction,
                  "Direction of the sensitivity test: random (the paper's) or top2 (between the "
                  "two largest logits)")
      ->check(CLI::IsMember({"random", "top2"}))
      ->capture_default_str();
  command
      .add_option("--temperatures", measure.temperatures,
                  "Temperatures of the sensitivity test (default: 31 from 0.01 to 10)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  command.add_option("--epsilons", measure.epsilons, "Step sizes of the sensitivity test")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->default_str("0.001,0.1,10");
  command.add_option("--critical-max", measure.critical_max, "Largest N searched for critical N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option("--critical-level", measure.critical_level,
                  "Level of the Kolmogorov-Smirnov test for critical N")
      ->check(CLI::Range(1e-12, 0.999))
      ->capture_default_str();
  command
      .add_option("--unit-sphere", measure.unit_sphere,
                  "Separability on vectors scaled to length 1 (the theorem's assumption)")
      ->default_str("true");
  command
      .add_option("--expected-draws", measure.expected_draws,
                  "Check the expected distance against this many random sets per row (0: off)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--queries", options.queries,
                     "Rows measured in each position bin, or all (default: all up to length 8192, "
                     "else 64)");
  command.add_option("--seed", options.scan.seed, "Seed of every random draw")
      ->capture_default_str();
  command.add_option("--out", options.out, "Folder for results.json and heads.csv");
  command.add_flag("--json", options.json, "Print results.json instead of the table");
  command.add_flag("--quiet", options.quiet, "No progress and no notices");
  command.add_option("--top", options.top, "Show only the first K heads of the table")
      ->check(CLI::PositiveNumber);
  command.add_option("--sort", options.sort, "Sort the table by this metric, largest first");
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
    const auto values = parse_integers(options.queries, "--queries");
    if (values.size() != 1 || values.front() < 1) {
      throw UsageError(fault("--queries", "a number of at least 1, or all",
                             "\"" + options.queries + "\"", "correct the number"));
    }
    scan.queries = values.front();
  }
}

// Makes the folder before the work begins, so that an unwritable one is told at once.
void prepare_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || access(folder.c_str(), W_OK) != 0) {
    throw ResourceError(fault(folder, "a folder that can be written",
                              error ? error.message() : std::strerror(errno),
                              "choose another --out"));
  }
}

int run(ScanCommand& options) {
  resolve(options);
  const StopOnSignal signal;
  if (!options.out.empty()) prepare_folder(options.out);
  const auto source = open_source(options.input);
  const bool terminal = isatty(STDERR_FILENO) != 0;
  ProgressBar progress(stderr, terminal);
  Results results =
      scan(*source, options.scan, options.quiet ? nullptr : &progress, signal.token());
  progress.clear();
  results.settings["text"] = options.input.texts;
  results.settings["tokens"] = options.input.tokens;
  results.settings["out"] = options.out;

  if (!options.out.empty()) {
    write_results(results, options.out + "/results.json");
    write_heads_csv(results, options.out + "/heads.csv");
  }
  if (results.partial) {
    throw InterruptedError(
        options.out.empty()
            ? fmt::format("interrupted after {} of {} layers; nothing was kept (no --out)",
                          results.layers_done, source->info().layers)
            : fmt::format("interrupted after {} of {} layers, which {}/results.json holds",
                          results.layers_done, source->info().layers, options.out));
  }
  if (options.json) {
    fmt::print("{}", results_text(results));
  } else {
    TableOptions table;
    table.color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    table.top = options.top;
    table.sort = options.sort;
    fmt::print("{}", render_table(results, table));
    for (const std::string& line : summarize(results)) fmt::print("{}\n", line);
    if (!options.out.empty()) {
      fmt::print("\nWritten: {0}/results.json, {0}/heads.csv\n", options.out);
    }
  }
  if (std::fflush(stdout) != 0) {
    throw ResourceError(fault("standard output", "to write the results", std::strerror(errno),
                              "check the disk or the pipe"));
  }
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
  add_options(*command, *options);
  command->footer(
      "Example: headgauge scan demo/model --text demo/text.txt --out demo/out\n"
      "         headgauge scan gpt2 --text book.txt --lengths 256,1024 --measures weights --top "
      "20");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
