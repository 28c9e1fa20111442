#include "cli/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/findings.hpp"
#include "cli/host.hpp"
#include "cli/messages.hpp"
#include "cli/out_folder.hpp"
#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "cli/run_journal.hpp"
#include "cli/stop.hpp"
#include "cli/terminal.hpp"
#include "headgauge/scan.hpp"

namespace headgauge::cli {
namespace {

void print_table(const Results& results, const RunOptions& options, const RunSteps& steps,
                 const std::vector<std::string>& further) {
  print_text(steps.table(results, table_on_output()));
  print_findings(results);
  const std::string& out = options.output.out;
  if (!out.empty()) print("\n{}", written_line(results, out, further));
}

[[noreturn]] void report_interruption(const std::string& finished, const std::string& out,
                                      const std::string& advice) {
  if (finished.empty() && !advice.empty()) throw InterruptedError("interrupted" + advice);
  if (finished.empty()) {
    throw InterruptedError("interrupted before anything was finished; nothing was saved");
  }
  if (out.empty()) {
    throw InterruptedError(
        fmt::format("interrupted; {} but not saved, there being no --out", finished));
  }
  throw InterruptedError(fmt::format("interrupted; {} and saved in {}, marked partial{}", finished,
                                     results_path(out), advice));
}

bool has_model_of_its_own(const Host* program) {
  return program != nullptr && (program->model != nullptr || program->source != nullptr);
}

// The journal of the run; null for a command that has none.
std::unique_ptr<RunJournal> open_journal(const RunOptions& options, const RunSteps& steps,
                                         const HeadSource* source) {
  if (steps.journaled == nullptr) return nullptr;
  if (has_model_of_its_own(host())) {
    if (options.shard.empty()) return nullptr;
    throw UnsupportedError(fault("--shard", "a checkpoint, which other processes can open, too",
                                 "a model that is loaded here", "save it and give its folder"));
  }
  Results described;
  steps.describe ? steps.describe(described) : source->describe(described);
  auto journal = std::make_unique<RunJournal>(options.output.out, options.shard, described);
  steps.journaled->journal = journal->get();
  return journal;
}

void say_resumption(const RunJournal& journal, const HeadSource* source) {
  const std::string line =
      source == nullptr
          ? journal.resumption(0, 0)
          : journal.resumption(source->info().layers, std::ssize(source->info().documents));
  if (!line.empty()) tell(line + "\n");
}

// Measures, with all that the results say beside the numbers. `source` is null where steps.simulate
// measures without one.
Results measured(RunOptions& options, const RunSteps& steps, HeadSource* source,
                 RunJournal* journal, Progress* progress, const std::stop_token& stop) {
  Results results =
      source == nullptr ? steps.simulate(progress, stop) : steps.measure(*source, progress, stop);
  if (source != nullptr) {
    // Texts that were opened on the way were measured on the same files, or this throws.
    Results described;
    source->describe(described);
  }
  if (journal != nullptr && !journal->has_results()) return results;
  if (source != nullptr) write_settings(options_of(options.input), results.settings);
  write_settings(options_of(options.output), results.settings);
  if (steps.journaled != nullptr) {
    write_settings({shard_option(options.shard)}, results.settings);
  }
  if (steps.complete) steps.complete(results);
  results.summary = steps.summarize(results);
  if (source != nullptr && source->info().family == "dump" && options.input.has_text()) {
    results.notices.push_back("--text and --tokens were not read: a dump holds its own queries");
  }
  use_command_line_names(results);
  return results;
}

// The same, of which the journal keeps what was finished if it fails.
Results measured_in(RunOptions& options, const RunSteps& steps, HeadSource* source,
                    RunJournal* journal, Progress* progress, const std::stop_token& stop) {
  try {
    return measured(options, steps, source, journal, progress, stop);
  } catch (const Error& error) {
    if (journal != nullptr) {
      const bool may_go_away = error.kind() == ErrorKind::resource ||
                               error.kind() == ErrorKind::interrupted ||
                               dynamic_cast<const DamagedPartError*>(&error) != nullptr;
      may_go_away ? journal->keep() : journal->discard();
    }
    throw;
  } catch (...) {
    if (journal != nullptr) journal->keep();
    throw;
  }
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

// Ends a run whose results are in `results`, or in another process. Throws where it was stopped.
void end_run(const Results& results, const RunSteps& steps, const OutputOptions& output,
             const OutFolder* folder, RunJournal* journal) {
  const bool has_results = journal == nullptr || journal->has_results();
  const std::string finished = has_results ? save(results, steps, folder) : "";
  if (journal != nullptr) results.partial ? journal->keep() : journal->finish();
  if (results.partial) {
    report_interruption(finished, output.out, journal != nullptr ? journal->advice() : "");
  }
}

int run_in(Host& host, RunOptions& options, const RunSteps& steps) {
  std::optional<OutFolder> folder;
  if (!options.output.out.empty()) folder.emplace(options.output.out);
  options.input.stop = host.stop;
  options.input.in_part = is_in_part(options.shard);
  if (steps.load) steps.load();
  std::unique_ptr<HeadSource> source;
  if (!steps.simulate) source = steps.open(options.input);
  const auto journal = open_journal(options, steps, source.get());
  Results results =
      measured_in(options, steps, source.get(), journal.get(), host.progress, host.stop);
  end_run(results, steps, options.output, folder ? &*folder : nullptr, journal.get());
  if (journal != nullptr && !journal->has_results()) return 0;
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
           .expects = "a folder",
           .decides = false},
          {.member = "OutputOptions::json",
           .value = &o.json,
           .form = "",
           .group = option_group::output,
           .help = "Print results.json in place of the table",
           .decides = false},
          {.member = "OutputOptions::quiet",
           .value = &o.quiet,
           .form = "",
           .group = option_group::output,
           .help = quiet,
           .decides = false}};
}

Option top_option(int& top) {
  return {.member = "OutputOptions::top",
          .value = &top,
          .form = "K|all",
          .group = option_group::output,
          .help = "Show only the first K heads of the table (default {})",
          .least = 1,
          .none = "all",
          .decides = false};
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
  const bool quiet = options.output.quiet;
  std::optional<OutFolder> folder;
  const bool draws = takes_escapes(STDERR_FILENO);
  std::optional<StopOnSignal> signal(std::in_place, draws && !quiet);
  if (!options.output.out.empty()) folder.emplace(options.output.out);
  options.input.stop = signal->token();
  options.input.in_part = is_in_part(options.shard);
  std::unique_ptr<HeadSource> source;
  signal->loading([&] { folder.reset(); });
  if (steps.load) steps.load();
  if (!steps.simulate) source = steps.open(options.input);
  const auto journal = open_journal(options, steps, source.get());
  if (journal != nullptr && !quiet) say_resumption(*journal, source.get());
  signal->loaded();
  ProgressBar bar(stderr, draws, static_cast<int>(width.value_or(80)));
  Progress* const progress = quiet ? nullptr : &bar;
  const Results results =
      measured_in(options, steps, source.get(), journal.get(), progress, signal->token());
  bar.clear();
  signal->hold();
  end_run(results, steps, options.output, folder ? &*folder : nullptr, journal.get());
  if (journal != nullptr && !journal->has_results()) {
    if (!quiet) print_text(journal->shard_line(options.output.out));
    flush_text();
    return 0;
  }
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
