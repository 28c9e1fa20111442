// A program that runs commands in its own process, as the Python package does.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// What stands in place of the terminal, the signals and some of the files while a command runs.
struct Host {
  std::stop_token stop;          // in place of Ctrl-C
  Progress* progress = nullptr;  // in place of the progress bar
  // In place of the model that MODEL names, where it is not null.
  std::unique_ptr<HeadSource> source;
  // In place of the files of these names that --text and --tokens give.
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<int>> tokens;

  std::optional<Results> results;  // what the command measured
  std::string printed;             // what it would have printed on stdout
};

// The host of the command that this thread runs; null: the command line is its own.
Host* host();

// Runs one command with the arguments that follow the name of the program; returns its exit code.
// Throws Error, UsageError where the arguments make no sense.
int run_command(const std::vector<std::string>& arguments);

// The same for a host: nothing is printed, and no signal is taken.
int run_command(const std::vector<std::string>& arguments, Host& host);

}  // namespace headgauge::cli
