#include "cli/run.hpp"

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/print.hpp"
#include "cli/progress.hpp"
#include "cli/screen.hpp"
#include "cli/stop.hpp"
#include "cli/terminal.hpp"
#include "headgauge/results.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

// Shows a run on the terminal.
class Watch final : public RunObserver {
 public:
  Watch(const RunSteps& steps, StopOnSignal& signal, ProgressBar& bar, bool quiet)
      : steps_(steps), signal_(signal), bar_(bar), quiet_(quiet) {}

  void update(std::string_view what, double done, double total) override {
    if (!quiet_) bar_.update(what, done, total);
  }
  void resumed(const std::string& line, double done) override {
    if (!quiet_) tell(line + "\n");
    bar_.resume(done);
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

void print_shard(const Share& share, const std::string& out) {
  print("Written: {}\nWith the folders of all {} shards: headgauge merge {} ... --out RESULTS\n",
        journal_path(out, share), share.count, out);
}

// Returns the files written to the folder of --out: results.json, heads.csv and further ones.
std::vector<std::string> files_in(const std::string& folder, const Results& results,
                                  const std::vector<std::string>& further = {}) {
  if (folder.empty()) return {};
  std::vector<std::string> paths{results_path(folder)};
  if (has_heads(results)) paths.push_back((std::filesystem::path(folder) / kHeadsFile).string());
  paths.insert(paths.end(), further.begin(), further.end());
  return paths;
}

void print_screen(const Results& results, const OutputOptions& output,
                  const std::vector<std::string>& files) {
  print_text(render_screen(results, table_on_output(output.look), output.out, files));
}

}  // namespace

std::vector<Option> options_of(InputOptions& o) {
  return declared_options("InputOptions", {{"texts", &o.texts}, {"tokens", &o.tokens}});
}

Operand model_operand(InputOptions& o, std::string unless) {
  return {.name = "MODEL",
          .help =
              "A checkpoint folder, a .safetensors file next to its config.json, a .gguf file, "
              "a name in the Hugging Face cache, or a dump file",
          .value = &o.model,
          .unless = std::move(unless),
          .expects = "a model"};
}

std::vector<Option> options_of(OutputOptions& o) {
  return declared_options("OutputOptions", {{"out", &o.out},
                                            {"force", &o.force},
                                            {"json", &o.json},
                                            {"table", &o.look.table},
                                            {"explain", &o.look.explain},
                                            {"quiet", &o.quiet}});
}

std::vector<Option> reading_options(OutputOptions& o) {
  return join_options({adapted_options("ReadOptions", options_of(o)),
                       declared_options("ReadOptions", {{"top", &o.look.top}})});
}

std::vector<Option> run_options(RunOptions& o, bool has_top) {
  std::vector<OptionMember> members = {{"shard", &o.shard}};
  if (has_top) members.emplace_back("top", &o.output.look.top);
  return declared_options("RunOptions", members);
}

void show_read(const Results& results, const OutputOptions& output,
               const std::vector<std::string>& verdict) {
  if (!output.out.empty()) OutFolder(output.out).save(results, output.force);
  if (output.json) {
    print_text(results_text(results));
  } else {
    print_screen(results, output, files_in(output.out, results));
    if (!verdict.empty()) print_text("\n");
    print_sentences(verdict);
  }
  flush_text();
  if (!output.quiet) print_notices(results.notices);
  for (const std::string& line : verdict) {
    if (output.json) tell("headgauge: " + legible(line) + "\n");
  }
}

int run_measurement(const RunOptions& options, const RunSteps& steps) {
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
  const std::string& model = options.input.model;
  Session session =
      steps.open ? steps.open(run)
                 : Session(model.empty() ? Model() : Model(model), options.input.files(), run);
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
    print_screen(results, output, files_in(output.out, results, session.written()));
  }
  flush_text();
  if (!output.quiet) print_notices(results.notices);
  if (!output.quiet) print_notices(session.remarks());
  return 0;
}

}  // namespace headgauge::cli
