// Joins the results of several checkpoints of one model, and says which heads changed over them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/options.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

struct SeriesOptions {
  std::vector<double> steps = {};         // of the runs, ascending
  std::vector<std::string> metrics = {};  // only these; empty: all metrics of heads in all runs
  double level = kFalseDiscoveries;       // false discovery rate over all changes
};

std::vector<Option> options_of(SeriesOptions& options);

// Returns a step for each run: the number in which the names differ, if the text before it in its
// part of the path and all text after it are the same in all names, and no two numbers are. Returns
// nothing if the names give no steps.
std::vector<double> steps_of(std::span<const std::string> names);

// Joins `runs`, of which `names` are the files, along the dimension `step`, in the order of the
// steps: options.steps, else steps_of(), else 1, 2, 3 ... with a notice. Metrics are those of heads
// at the longest length and the judged N, which the settings name. Adds for each metric and head
// the change from the first step to the last with its test, the slope against the step, and the
// step from which on the value stays at or past the middle of its change (docs/mathematics.md 7j).
// Model, text and flags come from the last run; notices say what the runs do not share. Throws
// UsageError for steps that do not fit the runs and for unknown metrics, BadInputError for results
// of a diff or a series, for runs without a common metric, and for runs of other heads, another
// longest length or another judged N than the first.
//
// Each step has one run, or runs on the same 4 texts or more, each measured by itself. In the
// latter case values, changes and slopes are means over the texts, and all standard errors come
// from the scatter between the texts. Throws BadInputError, too, for a run without just one partner
// at every step.
Results series(std::span<const std::vector<Results>> runs, std::span<const std::string> names,
               const SeriesOptions& options = {});

}  // namespace headgauge
