// Input, output, execution and printing, shared by all commands that measure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/tables.hpp"
#include "headgauge/options.hpp"
#include "headgauge/results.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/session.hpp"

namespace headgauge::cli {

// MODEL, --text and --tokens, which all commands on a model and a text have.
struct InputOptions {
  std::string model;
  std::vector<std::string> texts;
  std::vector<std::string> tokens;

  bool are_ids() const { return texts.empty() && !tokens.empty(); }
  Texts files() const { return are_ids() ? token_files(tokens) : text_files(texts); }
  // Gives other texts the same kind, text or token ids.
  void set_kind(Texts& others) const {
    for (Text& text : others) text.is_ids = are_ids();
  }
};

std::vector<Option> options_of(InputOptions& options);
Operand model_operand(InputOptions& options, std::string unless = "");

struct OutputOptions {
  std::string out = {};
  bool force = false;
  bool json = false;
  bool quiet = false;
  TableOptions look = {};
};

std::vector<Option> options_of(OutputOptions& options);
// The same for a command that reads results, with the --top of its lines.
std::vector<Option> reading_options(OutputOptions& options);

// Writes the results of a command that reads results to --out, and prints them: the screen and the
// sentences of the verdict, or results.json, after which the verdict goes to stderr.
void show_read(const Results& results, const OutputOptions& output,
               const std::vector<std::string>& verdict = {});

struct RunOptions {
  InputOptions input = {};
  OutputOptions output = {};
  std::string shard = {};  // --shard, if the command has it
};

// --shard, and --top if the command has it.
std::vector<Option> run_options(RunOptions& options, bool has_top);

// The parts of a run that differ between commands.
struct RunSteps {
  std::function<Results(Session&)> measure;
  // Checks the options once the model is open, before the work begins.
  std::function<void(const SourceInfo&)> check = {};
  // Creates the session; by default one of the model and the texts of the options.
  std::function<Session(Run)> open = {};
};

// Measures in a session, shows progress on the terminal, and prints the results. An interrupted run
// saves what was finished and then throws. Returns the exit code.
int run_measurement(const RunOptions& options, const RunSteps& steps);

}  // namespace headgauge::cli
