#include "cli/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/out_folder.hpp"
#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "cli/stop.hpp"
#include "cli/table_style.hpp"
#include "cli/terminal.hpp"
#include "cli/usage.hpp"
#include "headgauge/measure.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kHelpColumns = 74;  // of what is said of an option
constexpr const char* kSensitivity = "Sensitivity";
constexpr const char* kCritical = "Distances and critical N";
constexpr const char* kRunning = "Running";

void add_choices(CLI::App& command, RunOptions& options, const std::string& measures) {
  command
      .add_option("--top-n", options.top_n, "Sizes of the selected sets (default 1,5,10,20,100)")
      ->option_text("N,N...")
      ->group(kWhatGroup);
  CLI::Option* groups = command.add_option("--measures", options.scan.measures)
                            ->option_text("GROUP,GROUP...")
                            ->delimiter(',')
                            ->group(kWhatGroup);
  // The catalogue is read where this command runs, not at every start.
  command.preparse_callback([groups, measures](std::size_t) {
    groups->description(wrapped(fmt::format("Groups of metrics: {} (default: {})",
                                            fmt::join(measure_groups(), ", "), measures),
                                kHelpColumns, 0));
  });
  command
      .add_option("--queries", options.queries,
                  "Rows measured in each position bin (default: all up to length 8192,\n"
                  "else 64)")
      ->option_text("K|all")
      ->group(kWhatGroup);
}

void add_details(CLI::App& command, RunOptions& options) {
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

void print_table(const Results& results, const RunOptions& options, const RunSteps& steps,
                 const std::vector<std::string>& further) {
  print_text(steps.table(results, table_on_output()));
  std::vector<std::string> sentences;
  for (const SummaryLine& line : results.summary) sentences.push_back(line.text);
  print_sentences(sentences);
  if (!options.out.empty()) print("\n{}", written_line(results, options.out, further));
}

[[noreturn]] void report_interruption(const std::string& finished, const std::string& out) {
  if (finished.empty()) {
    throw InterruptedError("interrupted before anything was finished; nothing was saved");
  }
  if (out.empty()) {
    throw InterruptedError(
        fmt::format("interrupted; {} but not saved, there being no --out", finished));
  }
  throw InterruptedError(
      fmt::format("interrupted; {} and saved in {}, marked partial", finished, results_path(out)));
}

}  // namespace

void RunOptions::add_to(CLI::App& command, const std::string& measures) {
  add_choices(command, *this, measures);
  add_details(command, *this);
  add_output_to(command);
}

void RunOptions::add_output_to(CLI::App& command, const char* folder) {
  command.add_option("--seed", scan.seed, "Seed of every random draw (default 0)")
      ->option_text("S")
      ->check(seed_number())
      ->group(kRunning);
  command.add_option("--out", out, folder)
      ->option_text("DIR")
      ->check(some_text("a folder"))
      ->group(kOutputGroup);
  command.add_flag("--json", json, "Print results.json in place of the table")->group(kOutputGroup);
  command.add_flag("--quiet", quiet, "No progress and no notices")->group(kOutputGroup);
}

void RunOptions::add_selection_to(CLI::App& command, const char* layers, const char* heads,
                                  const char* group) {
  command.add_option("--layers", scan.layers, layers)
      ->option_text("LIST")
      ->check(some_text("layers such as 0-3,5"))
      ->group(group);
  command.add_option("--heads", scan.heads, heads)
      ->option_text("LIST")
      ->check(some_text("heads such as 3.5,7.*"))
      ->group(group);
}

void RunOptions::resolve() {
  input.resolve();
  scan.lengths = input.lengths;
  scan.x = input.x_source();
  scan.threads = input.threads;
  scan.measure.top_n = parse_integers(top_n, "--top-n");
  scan.measure.direction =
      direction == "random" ? MeasureOptions::Direction::random : MeasureOptions::Direction::top2;
  if (queries == "all") {
    scan.queries = 0;
  } else if (!queries.empty()) {
    const std::string unfit = whole_number(1)(queries);
    if (!unfit.empty()) {
      throw UsageError("--queries: " + unfit + "; give all, or a number");
    }
    scan.queries = std::stoi(queries);
  }
}

std::string finished_layers(const Results& results) {
  if (results.layers_done == 0) return "";
  std::string text = results.layers_done == 1
                         ? "1 layer was finished"
                         : fmt::format("{} layers were finished", results.layers_done);
  // Of a bidirectional model every length is a pass of its own.
  const auto lengths = static_cast<std::size_t>(results.coord_size("length"));
  const std::size_t asked = results.settings["lengths"].size();
  if (lengths < asked) text += fmt::format(" at {} of {} lengths", lengths, asked);
  return text;
}

void set_top(int top, Results& results) {
  if (top > 0) {
    results.settings["top"] = top;
  } else {
    results.settings["top"] = "all";
  }
}

int run_measurement(const RunOptions& options, const RunSteps& steps) {
  const auto width = terminal_width(STDERR_FILENO);
  std::optional<StopOnSignal> signal(std::in_place, width.has_value() && !options.quiet);
  std::optional<OutFolder> folder;
  if (!options.out.empty()) folder.emplace(options.out);
  const auto source = steps.simulate ? nullptr : open_source(options.input);
  ProgressBar bar(stderr, width.has_value(), static_cast<int>(width.value_or(80)));
  Progress* const progress = options.quiet ? nullptr : &bar;
  Results results = source == nullptr ? steps.simulate(progress, signal->token())
                                      : steps.measure(*source, progress, signal->token());
  bar.clear();
  if (source != nullptr) {
    results.settings["text"] = options.input.texts;
    results.settings["tokens"] = options.input.tokens;
  }
  results.settings["out"] = options.out;
  results.settings["json"] = options.json;
  steps.complete(results);
  results.settings["quiet"] = options.quiet;
  results.summary = summarize(results);

  if (source != nullptr && source->info().family == "dump" && options.input.has_text()) {
    results.notices.push_back("--text and --tokens were not read: a dump holds its own queries");
  }

  signal->hold();
  const std::string finished = results.partial ? steps.finished(results) : "all";
  if (folder && !finished.empty()) folder->save(results);
  if (results.partial) report_interruption(finished, options.out);
  std::vector<std::string> further;
  if (folder && steps.saved) further = steps.saved(results);
  // All is safe; from here on Ctrl-C just ends the printing.
  signal.reset();
  if (options.json) {
    print_text(results_text(results));
  } else {
    print_table(results, options, steps, further);
  }
  flush_text();
  if (!options.quiet) print_notices(results.notices);
  return 0;
}

}  // namespace headgauge::cli
