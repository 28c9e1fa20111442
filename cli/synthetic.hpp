// headgauge converge --synthetic: random tokens in place of a model and a text.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/run.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/synthetic.hpp"

namespace headgauge::cli {

struct SyntheticCommand {
  std::string tokens;  // of --synthetic; empty: a model it is
  SyntheticOptions options;
  std::string scales, horizons, radii;

  // The options that only synthetic tokens have, and MODEL is no longer required.
  void add_to(CLI::App& command);
  bool chosen() const { return !tokens.empty(); }
  // Throws UsageError for one of them without --synthetic, or no MODEL.
  void refuse(const CLI::App& command) const;
  // Throws UsageError for an option that these tokens, or with `grid` the default grid, do not use.
  void refuse_idle(const CLI::App& command, bool grid) const;
  // `grid` and `shared` are what models have too: points, replicates.
  int run(const CLI::App& command, RunOptions& run, const std::optional<std::string>& grid,
          const ConvergeOptions& shared);
};

// "0.1,1,10", or "FIRST:LAST:COUNT" for geometric ones; `option` names it in the UsageError for
// anything else.
std::vector<double> parse_numbers(const std::string& text, const std::string& option);

}  // namespace headgauge::cli
