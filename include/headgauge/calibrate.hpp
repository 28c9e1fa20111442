// Key budgets asked for in nats: what the error of the heads' outputs, all at once, does to the
// loss of this model, and the error that a rise of the loss allows (docs/mathematics.md 7f).
#pragma once

#include <stop_token>
#include <vector>

#include "headgauge/converge.hpp"
#include "headgauge/options.hpp"
#include "headgauge/plan.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

struct CalibrateOptions {
  std::vector<double> tolerance_nats;  // rises of the loss, each above 0
  int threads = 0;
  std::uint64_t seed = 0;
};

// Lists the options that have names; threads and seed are those of the scan.
std::vector<Option> options_of(CalibrateOptions& options);

// The texts of a calibration. Every document of the two has the same number of tokens, at least
// kShortestContext, and `learn` has two or more.
struct CalibrationTexts {
  HeadSource& learn;    // on which budgets and losses are measured
  HeadSource& confirm;  // which has nothing in common with it, and is looked at once
};

// Keeps every head to the most recent keys and 4 sinks that leave its output within a tolerance,
// and measures the joint loss, for tolerances from 0.01 to 1. Of the tolerances, in their order,
// those before the first that is not shown to raise the loss by less than a rise of the options are
// good for it; the plan of the last of them is measured on `confirm`. Adds to the results of
// converge() the metrics of catalogue/19-calibration.json, over dims calibrated_tolerance and rise.
// Returns a plan for each rise, empty where no tolerance is good. Deterministic on any number of
// threads. When `stop` is requested nothing is added, and the results are partial. Throws
// UsageError for a rise that is not above 0 and for fewer documents, BadInputError for documents of
// different lengths, UnsupportedError for a source that is not a causal model with a loss.
std::vector<MadePlan> calibrate_budgets(const CalibrationTexts& texts,
                                        const CalibrateOptions& options, Results& results,
                                        Progress* progress = nullptr, std::stop_token stop = {});

}  // namespace headgauge
