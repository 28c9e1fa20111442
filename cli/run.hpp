// What commands that scan have in common: their input and output, and how they run, save and print.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/input.hpp"
#include "cli/table.hpp"
#include "headgauge/options.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"

namespace headgauge::cli {

struct OutputOptions {
  std::string out;
  bool json = false;
  bool quiet = false;
};

// `folder` and `quiet`: the help of --out and --quiet.
std::vector<Option> options_of(
    OutputOptions& options,
    const std::string& folder = "Folder for results.json and heads.csv; made if need be",
    const std::string& quiet = "No progress and no notices");

// --top: the first so many heads of the table, 0 being all.
Option top_option(int& top);

struct RunOptions {
  InputOptions input;
  OutputOptions output;
  std::string shard;  // --shard, of commands that have it
};

// What differs from command to command.
struct RunSteps {
  // Reads what simulate() or measure() needs besides; a signal ends it at once.
  std::function<void()> load = {};
  std::function<std::unique_ptr<HeadSource>(const InputOptions&)> open = open_source;
  std::function<Results(HeadSource&, Progress*, std::stop_token)> measure;
  // In place of measure() where there is no model and no text.
  std::function<Results(Progress*, std::stop_token)> simulate = {};
  // Of commands whose parts a journal keeps, and several processes compute: where it is noted.
  ScanOptions* journaled = nullptr;
  // The model and the texts, of such a command without a source.
  std::function<void(Results&)> describe = {};
  std::function<void(Results&)> complete = {};  // settings of the command's own options
  std::function<std::vector<SummaryLine>(const Results&)> summarize = headgauge::summarize;
  std::function<std::string(const Results&, const TableOptions&)> table;
  // What was finished when interrupted, as in "2 layers were finished"; empty: nothing.
  std::function<std::string(const Results&)> finished;
  // Once results, perhaps partial ones, took the place of older ones: removes what was of those.
  std::function<void()> replaced = {};
  // Once all is in --out: writes what goes there besides, and names it.
  std::function<std::vector<std::string>(const Results&)> saved = {};
};

// "2 layers were finished"; empty where there are none.
std::string finished_layers(const Results& results);

// Opens the source, measures, saves and prints; an interruption is an error once what was finished
// is saved. Returns the exit code.
int run_measurement(RunOptions& options, const RunSteps& steps);

}  // namespace headgauge::cli
