// Key budgets for a limit given in nats: measures how the errors of all heads' outputs together
// change the loss of a model, and which error a given rise of the loss allows (docs/mathematics.md
// 7f).
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

// Lists the options that have names; threads and seed come from the scan's options.
std::vector<Option> options_of(CalibrateOptions& options);

// The texts of a calibration. Every document of both has the same number of tokens, at least
// kShortestContext, and `learn` has two or more documents.
struct CalibrationTexts {
  HeadSource& learn;    // budgets and losses are measured on it
  HeadSource& confirm;  // has no text in common with `learn` and is used once
  // Cases of tasks, two or more each, whose answers must not be lost either; null: none.
  HeadSource* learn_answers = nullptr;
  HeadSource* confirm_answers = nullptr;
};

// Limits every head to 4 sinks and the most recent keys, as few as keep its output within a
// tolerance, and measures the joint loss, for tolerances from 0.01 to 1. A tolerance is good for a
// rise in the options if it and all smaller tolerances are shown to raise the loss by less than
// that rise; with cases, the loss of answers too. The plan of the largest good tolerance is
// measured on `confirm`. Adds the metrics of catalogue/19-calibration.json, over the dims
// calibrated_tolerance and rise, to the results of converge(). Returns a plan for each rise, empty
// if no tolerance is good. The result does not depend on the number of threads. When `stop` is
// requested nothing is added, and the results are partial. Throws UsageError for a rise that is not
// above 0 and for too few documents, BadInputError for documents of different lengths,
// UnsupportedError for a source that is not a causal model with a loss.
std::vector<MadePlan> calibrate_budgets(const CalibrationTexts& texts,
                                        const CalibrateOptions& options, Results& results,
                                        Progress* progress = nullptr, std::stop_token stop = {});

}  // namespace headgauge
