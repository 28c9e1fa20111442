// What commands that scan have in common: their options, and how they run, save and print.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/input.hpp"
#include "cli/table.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"

namespace headgauge::cli {

inline constexpr const char* kFolderHelp = "Folder for results.json and heads.csv; made if need be";

struct RunOptions {
  InputOptions input;
  ScanOptions scan;
  std::string top_n = "1,5,10,20,100";
  std::string direction = "random";
  std::string queries;
  std::string out;
  bool json = false;
  bool quiet = false;

  // The options on what is measured, on sensitivity and critical N, and on running and output;
  // those on the input are input.add_to(), and the command adds its own between or after. What
  // --measures is by default is told in the help.
  void add_to(CLI::App& command, const std::string& measures = "all there can be");
  // --seed, --out, --json and --quiet alone.
  void add_output_to(CLI::App& command, const char* folder = kFolderHelp);
  // --layers and --heads, with their help.
  void add_selection_to(CLI::App& command, const char* layers, const char* heads,
                        const char* group);
  // Parses what add_to() left as text; throws UsageError.
  void resolve();
};

inline constexpr const char* kWhatGroup = "What is measured";
inline constexpr const char* kOutputGroup = "Output";

// What differs from command to command.
struct RunSteps {
  std::function<Results(HeadSource&, Progress*, std::stop_token)> measure;
  // In place of measure() where there is no model and no text.
  std::function<Results(Progress*, std::stop_token)> simulate = {};
  std::function<void(Results&)> complete;  // settings of the command's own options
  std::function<std::string(const Results&, const TableOptions&)> table;
  // What was finished when interrupted, as in "2 layers were finished"; empty: nothing.
  std::function<std::string(const Results&)> finished;
  // Once all is in --out: writes what goes there besides, and names it.
  std::function<std::vector<std::string>(const Results&)> saved = {};
};

// "2 layers were finished"; empty where there are none.
std::string finished_layers(const Results& results);

// What settings say of --top, 0 being all heads.
void set_top(int top, Results& results);

// Opens the source, measures, saves and prints; an interruption is an error once what was finished
// is saved. Returns the exit code.
int run_measurement(const RunOptions& options, const RunSteps& steps);

}  // namespace headgauge::cli
