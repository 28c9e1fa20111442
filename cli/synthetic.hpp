// headgauge converge --synthetic: random tokens in place of a model and a text.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/run.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/synthetic.hpp"

namespace headgauge::cli {

struct SyntheticCommand {
  std::string tokens;  // of --synthetic; empty: a model it is
  SyntheticOptions options;

  // The options that only synthetic tokens have, and MODEL is no longer required.
  void add_to(CLI::App& command);
  bool chosen() const { return !tokens.empty(); }
  // Throws UsageError for one of them without --synthetic, or no MODEL.
  void refuse(const CLI::App& command) const;
  // Throws UsageError for an option that these tokens do not use.
  void refuse_idle(const CLI::App& command) const;
  // `shared` is what models have too.
  int run(const CLI::App& command, RunOptions& run, const ConvergeOptions& shared);
};

}  // namespace headgauge::cli
