// The options that every command on a model and a text shares, and what they load.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/model.hpp"

namespace headgauge::cli {

struct InputOptions {
  std::string model;
  std::vector<std::string> texts;
  std::vector<std::string> tokens;
  std::vector<int> lengths;  // empty: auto
  std::string lengths_text = "auto";
  std::string x = "embedding";
  std::string asked_by = "scan";             // the command, for messages
  std::string lengths_option = "--lengths";  // likewise
  std::string auto_advice = "use --lengths auto";
  int threads = 0;

  void add_to(CLI::App& command);
  // MODEL, --text and --tokens alone, and --threads.
  void add_source_to(CLI::App& command);
  void add_threads_to(CLI::App& command);
  // Parses what add_to() left as text; throws UsageError.
  void resolve();
  XSource x_source() const;
  bool has_text() const { return !texts.empty() || !tokens.empty(); }
};

// The model or dump with its documents, cut to the longest length asked for.
std::unique_ptr<HeadSource> open_source(const InputOptions& options);

// Whether a text of one is the beginning of a text of the other, token by token.
bool share_text(const InputOptions& a, const InputOptions& b);

// "32,64" as numbers; `option` names it in the UsageError for anything else.
std::vector<int> parse_integers(const std::string& list, const std::string& option);

}  // namespace headgauge::cli
