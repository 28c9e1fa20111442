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
#include "headgauge/model.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// A model of the program's own.
class HostModel {
 public:
  virtual ~HostModel() = default;
  virtual ModelSummary summary() const = 0;
  // The model with these documents, which are token ids. Throws as make_model_source() does.
  virtual std::unique_ptr<HeadSource> open(std::vector<Document> documents, XSource x) = 0;
};

// What stands in place of the terminal, the signals and some of the files while a command runs.
struct Host {
  std::stop_token stop;          // in place of Ctrl-C
  Progress* progress = nullptr;  // in place of the progress bar
  // In place of what MODEL names, where one is not null: a model, or heads that are there already.
  std::unique_ptr<HostModel> model;
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
