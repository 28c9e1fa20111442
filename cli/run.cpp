#include "cli/run.hpp"

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "cli/stop.hpp"
#include "cli/table_style.hpp"
#include "cli/terminal.hpp"
#include "headgauge/results.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kIndent = 4;

// Prints the summary below a table. Each sentence is followed by its meaning and the command to run
// next, indented; neighbouring sentences that share these have them below the last one.
void print_findings(const Results& results) {
  const TableOptions look = table_on_output();
  const Painter paint(look.color);
  const std::vector<SummaryLine>& lines = results.summary;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    print_sentences({lines[i].text});
    const auto goes_on = [&](std::string SummaryLine::*words) {
      return i + 1 < lines.size() && lines[i + 1].*words == lines[i].*words;
    };
    for (const auto words : {&SummaryLine::means, &SummaryLine::next}) {
      if ((lines[i].*words).empty() || goes_on(words)) continue;
      print_text(std::string(kIndent, ' ') +
                 paint(Style::faint, hanging(legible(lines[i].*words), look.width, kIndent)) +
                 "\n");
    }
  }
}

// Shows a run on the terminal.
class Watch final : public RunObserver {
 public:
  Watch(const RunSteps& steps, StopOnSignal& signal, ProgressBar& bar, bool quiet)
      : steps_(steps), signal_(signal), bar_(bar), quiet_(quiet) {}

  void update(std::string_view what, double done, double total) override {
    if (!quiet_) bar_.update(what, done, total);
  }
  void resumed(const std::string& line) override {
    if (!quiet_) tell(line + "\n");
  }
  void opened(const HeadSource* source) override {
    if (steps_.check && source != nullptr) steps_.check(source->info());
    signal_.loaded();
  }
  void measured() override {
    bar_.clear();
    signal_.hold();
  }

 private:
  const RunSteps& steps_;
  StopOnSignal& signal_;
  ProgressBar& bar_;
  bool quiet_;
};

void print_table(const Results& results, const RunOptions& options, const RunSteps& steps,
                 const std::vector<std::string>& further) {
  print_text(steps.table(results, table_on_output()));
  print_findings(results);
  const std::string& out = options.output.out;
  if (!out.empty()) print("\n{}", written_line(results, out, further));
}

void print_shard(const Share& share, const std::string& out) {
  print("Written: {}\nWith the folders of all {} shards: headgauge merge {} ... --out RESULTS\n",
        journal_path(out, share), share.count, out);
}

}  // namespace

std::string written_line(const Results& results, const std::string& folder,
                         const std::vector<std::string>& further) {
  std::vector<std::string> paths{results_path(folder)};
  if (has_heads(results)) paths.push_back((std::filesystem::path(folder) / kHeadsFile).string());
  paths.insert(paths.end(), further.begin(), further.end());
  return fmt::format("Written: {}\n", legible(fmt::format("{}", fmt::join(paths, ", "))));
}

std::vector<Option> options_of(InputOptions& o) {
  return in_group(
      option_group::input,
      {{.member = "InputOptions::texts",
        .value = &o.texts,
        .form = "FILE...",
        .help = "UTF-8 texts; each file is a document",
        .details = "A text goes through the model's own tokenizer, with its special tokens. It "
                   "is a file or a pipe of at most 1.1 GB. `@LIST` is replaced by the lines of "
                   "a file, for more names than a command line takes",
        .expects = "a file",
        .named = "text"},
       {.member = "InputOptions::tokens",
        .value = &o.tokens,
        .form = "FILE...",
        .help = "Files of whitespace-separated token ids, instead of text",
        .details = "Any model takes them; no special tokens are added. Each is a file or a "
                   "pipe, as for `--text`",
        .expects = "a file",
        .excludes = "text"}});
}

void InputOptions::add_model(CLI::App& command) {
  command
      .add_option("MODEL", model,
                  "A checkpoint folder, a .safetensors file next to its config.json, a\n.gguf "
                  "file, a name in the Hugging Face cache, or a dump file")
      ->option_text(" ")
      ->required();
}

void InputOptions::add_to(CLI::App& command) {
  add_model(command);
  add_options(command, options_of(*this));
}

std::vector<Option> options_of(OutputOptions& o, const std::string& folder,
                               const std::string& quiet) {
  return in_group(option_group::output,
                  {{.member = "OutputOptions::out",
                    .value = &o.out,
                    .form = "DIR",
                    .help = folder,
                    .details = "See [formats.md](formats.md)",
                    .expects = "a folder",
                    .decides = false},
                   {.member = "OutputOptions::force",
                    .value = &o.force,
                    .form = "",
                    .help = "Replace finished results of another request in the folder",
                    .decides = false},
                   {.member = "OutputOptions::json",
                    .value = &o.json,
                    .form = "",
                    .help = "Print results.json instead of the table",
                    .decides = false},
                   {.member = "OutputOptions::quiet",
                    .value = &o.quiet,
                    .form = "",
                    .help = quiet,
                    .decides = false}});
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

Option lines_option(int& top, const std::string& command) {
  Option option = top_option(top);
  option.member = command + "::top";
  option.help = "Show only the first K lines of a table (default {})";
  return option;
}

void show_read(const Results& results, const OutputOptions& output, const std::string& table,
               const std::vector<std::string>& verdict) {
  if (!output.out.empty()) OutFolder(output.out).save(results, output.force);
  if (output.json) {
    print_text(results_text(results));
  } else {
    print_text(table);
    print_sentences(verdict);
    if (!output.out.empty()) print("\n{}", written_line(results, output.out));
  }
  flush_text();
  if (!output.quiet) print_notices(results.notices);
  for (const std::string& line : verdict) {
    if (output.json) tell("headgauge: " + legible(line) + "\n");
  }
}

Option shard_option(std::string& shard) {
  return {.member = "RunOptions::shard",
          .value = &shard,
          .form = "I/N",
          .group = option_group::output,
          .help = "Compute share I of N of the documents, into --out, for headgauge merge",
          .details = "See [scale.md](scale.md)",
          .expects = "I/N",
          .decides = false};
}

int run_measurement(const RunOptions& options, const RunSteps& steps) {
  return run_measurement(options, steps, [&](Run run) {
    const std::string& model = options.input.model;
    return Session(model.empty() ? Model() : Model(model), options.input.files(), std::move(run));
  });
}

int run_measurement(const RunOptions& options, const RunSteps& steps,
                    const std::function<Session(Run)>& open) {
  const OutputOptions& output = options.output;
  const auto width = terminal_width(STDERR_FILENO);
  const bool draws = takes_escapes(STDERR_FILENO);
  std::optional<OutFolder> folder;  // tried before the model is looked for
  std::optional<StopOnSignal> signal(std::in_place, draws && !output.quiet);
  if (!output.out.empty()) folder.emplace(output.out);
  signal->loading([&] { folder.reset(); });
  ProgressBar bar(stderr, draws, static_cast<int>(width.value_or(80)));
  Watch watch(steps, *signal, bar, output.quiet);
  Run run{.out = output.out, .force = output.force, .observer = &watch, .stop = signal->token()};
  if (!options.shard.empty()) run.shard = parse_share(options.shard);
  Session session = open(run);
  const Results results = steps.measure(session);
  bar.clear();
  if (results.partial) throw InterruptedError(interruption(results, run));
  if (run.shard) {
    if (!output.quiet) print_shard(*run.shard, output.out);
    flush_text();
    return 0;
  }
  // Everything is saved; from here on Ctrl-C only ends the printing.
  signal.reset();
  if (output.json) {
    print_text(results_text(results));
  } else {
    print_table(results, options, steps, session.written());
  }
  flush_text();
  if (!output.quiet) print_notices(results.notices);
  if (!output.quiet) print_notices(session.remarks());
  return 0;
}

}  // namespace headgauge::cli
