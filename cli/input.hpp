// The options that every command on a model and a text shares, and what they load.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/model.hpp"
#include "headgauge/options.hpp"
#include "headgauge/reproduce.hpp"
#include "headgauge/scan.hpp"

namespace headgauge::cli {

struct InputOptions {
  std::string model;
  std::vector<std::string> texts;
  std::vector<std::string> tokens;
  // Of the command's own options, once they are read.
  std::vector<int> lengths;  // empty: auto
  XSource x = XSource::embedding;
  int threads = 0;
  // For messages: the command, its option for lengths, and what to do in place of giving them.
  std::string asked_by = "scan";
  std::string lengths_option = "--lengths";
  std::string auto_advice = "use --lengths auto";

  // MODEL, --text and --tokens.
  void add_to(CLI::App& command);
  // Takes what the source is opened with from the options of a scan.
  void take(const ScanOptions& scan);
  bool has_text() const { return !texts.empty() || !tokens.empty(); }
};

std::vector<Option> options_of(InputOptions& options);

// The model or dump with its documents, cut to the longest length asked for.
std::unique_ptr<HeadSource> open_source(const InputOptions& options);

// The same, and the whole texts to cut into pieces; empty for a dump, which has none.
struct OpenedText {
  std::unique_ptr<HeadSource> source;
  CutText cut;
};
OpenedText open_text(const InputOptions& options);

// Whether some text of either has 64 tokens in a row, or all of a shorter text, in common with one
// of the other, as far as they are measured.
bool share_text(const InputOptions& a, const InputOptions& b);

}  // namespace headgauge::cli
