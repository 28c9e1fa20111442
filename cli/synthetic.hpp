// headgauge converge --synthetic: random tokens instead of a model and a text.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/run.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/synthetic.hpp"

namespace headgauge::cli {

struct SyntheticCommand {
  std::string tokens;  // value of --synthetic; empty: a model is measured
  SyntheticOptions options;

  // Adds the options that only synthetic tokens have, and makes MODEL optional.
  void add_to(CLI::App& command);
  bool chosen() const { return !tokens.empty(); }
  // Throws UsageError for one of these options without --synthetic, or if MODEL is missing.
  void refuse(const CLI::App& command) const;
  // Throws UsageError for an option that tokens of this kind do not use.
  void refuse_idle(const CLI::App& command) const;
  // `shared`: the options that runs on models have, too.
  int run(const CLI::App& command, RunOptions& run, const ConvergeOptions& shared);
};

}  // namespace headgauge::cli
