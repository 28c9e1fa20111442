// What commands that measure have in common: their input and output, and how they run and print.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/input.hpp"
#include "cli/table.hpp"
#include "headgauge/options.hpp"
#include "headgauge/results.hpp"
#include "headgauge/session.hpp"

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
  std::string shard;                // --shard, of commands that have it
  std::vector<std::string> shards;  // folders to merge, of merge
};

// --shard I/N
Option shard_option(std::string& shard);

// What differs from command to command.
struct RunSteps {
  std::function<Results(Session&)> measure;
  std::function<std::string(const Results&, const TableOptions&)> table;
  // Checks what can be checked once the model is open, before the work begins.
  std::function<void(const SourceInfo&)> check = {};
  // Prints what the table does not say.
  std::function<void()> print_more = {};
};

// Measures in a session, follows it on the terminal, and prints; an interruption is an error once
// what was finished is saved. Returns the exit code.
int run_measurement(const RunOptions& options, const RunSteps& steps);

// The same with a session that `open` makes of how it is to run.
int run_measurement(const RunOptions& options, const RunSteps& steps,
                    const std::function<Session(Run)>& open);

}  // namespace headgauge::cli
