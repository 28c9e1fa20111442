// Joins the results of several checkpoints of one model, and says which heads changed over them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/options.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

struct SeriesOptions {
  std::vector<int> steps = {};            // of the runs, ascending
  std::vector<std::string> metrics = {};  // only these; empty: all metrics of heads in all runs
  double level = kFalseDiscoveries;       // false discovery rate over all changes
};

std::vector<Option> options_of(SeriesOptions& options);

// Returns a step for each run: the last number in its name, if every name has one and no two are
// the same and all are below 2^31, else 1, 2, 3 ...
std::vector<int> steps_of(std::span<const std::string> names);

// Joins `runs`, of which `names` are the files, along the dimension `step`, in the order of the
// steps (options.steps, else steps_of()). Metrics are those of heads at the longest length and the
// judged N. Adds for each metric and head the change from the first step to the last with its test,
// the slope against the step, and the step from which on the value stays past the middle of its
// change (docs/mathematics.md 7j). Model and text come from the last run. Throws
// UsageError for steps that do not fit the runs and for unknown metrics, BadInputError for runs
// without a common metric, or of other heads or lengths than the first.
Results series(std::span<const Results> runs, std::span<const std::string> names,
               const SeriesOptions& options = {});

}  // namespace headgauge
