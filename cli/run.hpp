// Input, output, execution and printing, shared by all commands that measure.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/tables.hpp"
#include "headgauge/options.hpp"
#include "headgauge/results.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/session.hpp"

namespace headgauge::cli {

// Names the files written to the folder of --out: "Written: DIR/results.json, DIR/heads.csv",
// followed by further files.
std::string written_line(const Results& results, const std::string& folder,
                         const std::vector<std::string>& further = {});

// MODEL, --text and --tokens, which all commands on a model and a text have.
struct InputOptions {
  std::string model;
  std::vector<std::string> texts;
  std::vector<std::string> tokens;

  // Adds MODEL.
  void add_model(CLI::App& command);
  void add_to(CLI::App& command);

  bool are_ids() const { return texts.empty() && !tokens.empty(); }
  Texts files() const { return are_ids() ? token_files(tokens) : text_files(texts); }
  // Gives other texts the same kind, text or token ids.
  void set_kind(Texts& others) const {
    for (Text& text : others) text.is_ids = are_ids();
  }
};

std::vector<Option> options_of(InputOptions& options);

struct OutputOptions {
  std::string out;
  bool force = false;
  bool json = false;
  bool quiet = false;
};

// `folder` and `quiet` are the help texts of --out and --quiet.
std::vector<Option> options_of(
    OutputOptions& options,
    const std::string& folder = "Folder for results.json and heads.csv; created if missing",
    const std::string& quiet = "Print no progress and no notices");

// Makes --top: the number of heads in the table, 0 for all.
Option top_option(int& top);
// Makes the --top of `command` for lines instead of heads.
Option lines_option(int& top, const std::string& command);

// Writes the results of a command that reads results to --out, and prints them: the table and the
// sentences of the verdict, or results.json, after which the verdict goes to stderr.
void show_read(const Results& results, const OutputOptions& output, const std::string& table,
               const std::vector<std::string>& verdict = {});

struct RunOptions {
  InputOptions input;
  OutputOptions output;
  std::string shard;  // --shard, if the command has it
};

// Makes --shard I/N.
Option shard_option(std::string& shard);

// The parts of a run that differ between commands.
struct RunSteps {
  std::function<Results(Session&)> measure;
  std::function<std::string(const Results&, const TableOptions&)> table;
  // Checks the options once the model is open, before the work begins.
  std::function<void(const SourceInfo&)> check = {};
};

// Measures in a session, shows progress on the terminal, and prints the results. An interrupted run
// saves what was finished and then throws. Returns the exit code.
int run_measurement(const RunOptions& options, const RunSteps& steps);

// The same with a session that `open` creates from the Run.
int run_measurement(const RunOptions& options, const RunSteps& steps,
                    const std::function<Session(Run)>& open);

}  // namespace headgauge::cli
