#include "cli/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/host.hpp"
#include "cli/messages.hpp"
#include "cli/out_folder.hpp"
#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "cli/stop.hpp"
#include "cli/terminal.hpp"
#include "headgauge/scan.hpp"

namespace headgauge::cli {
namespace {

void print_table(const Results& results, const RunOptions& options, const RunSteps& steps,
                 const std::vector<std::string>& further) {
  print_text(steps.table(results, table_on_output()));
  std::vector<std::string> sentences;
  for (const SummaryLine& line : results.summary) sentences.push_back(line.text);
  print_sentences(sentences);
  const std::string& out = options.output.out;
  if (!out.empty()) print("\n{}", written_line(results, out, further));
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

// Measures, with all that the results say beside the numbers. `source` is null where steps.simulate
// measures without one.
Results measured(RunOptions& options, const RunSteps& steps, HeadSource* source, Progress* progress,
                 const std::stop_token& stop) {
  Results results =
      source == nullptr ? steps.simulate(progress, stop) : steps.measure(*source, progress, stop);
  if (source != nullptr) {
    // Texts that were opened on the way were measured on the same files, or this throws.
    Results described;
    source->describe(described);
    write_settings(options_of(options.input), results.settings);
  }
  write_settings(options_of(options.output), results.settings);
  if (steps.complete) steps.complete(results);
  results.summary = steps.summarize(results);
  if (source != nullptr && source->info().family == "dump" && options.input.has_text()) {
    results.notices.push_back("--text and --tokens were not read: a dump holds its own queries");
  }
  use_command_line_names(results);
  return results;
}

// Saves what was finished of them, if anything was; the text that says what.
std::string save(const Results& results, const RunSteps& steps, const OutFolder* folder) {
  std::string finished = results.partial ? steps.finished(results) : "all";
  if (folder != nullptr && !finished.empty()) {
    folder->save(results);
    if (steps.replaced) steps.replaced();
  }
  return finished;
}

int run_in(Host& host, RunOptions& options, const RunSteps& steps) {
  std::optional<OutFolder> folder;
  if (!options.output.out.empty()) folder.emplace(options.output.out);
  options.input.stop = host.stop;
  if (steps.load) steps.load();
  std::unique_ptr<HeadSource> source;
  if (!steps.simulate) source = steps.open(options.input);
  Results results = measured(options, steps, source.get(), host.progress, host.stop);
  const std::string finished = save(results, steps, folder ? &*folder : nullptr);
  if (results.partial) report_interruption(finished, options.output.out);
  if (folder && steps.saved) steps.saved(results);
  host.results = std::move(results);
  return 0;
}

}  // namespace

std::vector<Option> options_of(OutputOptions& o, const std::string& folder,
                               const std::string& quiet) {
  return {{.member = "OutputOptions::out",
           .value = &o.out,
           .form = "DIR",
           .group = option_group::output,
           .help = folder,
           .details = "See [formats.md](formats.md)",
           .expects = "a folder"},
          {.member = "OutputOptions::json",
           .value = &o.json,
           .form = "",
           .group = option_group::output,
           .help = "Print results.json in place of the table"},
          {.member = "OutputOptions::quiet",
           .value = &o.quiet,
           .form = "",
           .group = option_group::output,
           .help = quiet}};
}

Option top_option(int& top) {
  return {.member = "OutputOptions::top",
          .value = &top,
          .form = "K|all",
          .group = option_group::output,
          .help = "Show only the first K heads of the table (default {})",
          .least = 1,
          .none = "all"};
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

int run_measurement(RunOptions& options, const RunSteps& steps) {
  if (Host* const program = host()) return run_in(*program, options, steps);
  const auto width = terminal_width(STDERR_FILENO);
  std::optional<OutFolder> folder;
  std::optional<StopOnSignal> signal(std::in_place, width.has_value() && !options.output.quiet);
  if (!options.output.out.empty()) folder.emplace(options.output.out);
  options.input.stop = signal->token();
  std::unique_ptr<HeadSource> source;
  signal->loading([&] { folder.reset(); });
  if (steps.load) steps.load();
  if (!steps.simulate) source = steps.open(options.input);
  signal->loaded();
  ProgressBar bar(stderr, width.has_value(), static_cast<int>(width.value_or(80)));
  Progress* const progress = options.output.quiet ? nullptr : &bar;
  const Results results = measured(options, steps, source.get(), progress, signal->token());
  bar.clear();
  signal->hold();
  const std::string finished = save(results, steps, folder ? &*folder : nullptr);
  if (results.partial) report_interruption(finished, options.output.out);
  std::vector<std::string> further;
  if (folder && steps.saved) further = steps.saved(results);
  // All is safe; from here on Ctrl-C just ends the printing.
  signal.reset();
  if (options.output.json) {
    print_text(results_text(results));
  } else {
    print_table(results, options, steps, further);
  }
  flush_text();
  if (!options.output.quiet) print_notices(results.notices);
  return 0;
}

}  // namespace headgauge::cli
