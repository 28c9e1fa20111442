// Writes the outcome of a search and its confirmation.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/made.hpp"
#include "plan/space.hpp"
#include "plan/tasks.hpp"

namespace headgauge {

struct PlanRun {
  const PlanTexts& texts;
  const PlanOptions& options;
  bool kept_windows;  // no layers were asked for, and those with a window keep their attention
  const PlanSpace& space;
  const std::vector<BudgetResult>& budgets;
  const MeasuredTasks& tasks;
  const std::vector<std::string>& confirmed_tasks;  // those of the cases of --confirm
  const Judged& original;                           // of the confirmation documents
  nlohmann::ordered_json weights = {};              // of the losses that the search lowered
  int computed = 0;                                 // number of losses computed
  double seconds = 0;
};

PlanResults write_plan_results(const PlanRun& run);

// Returns the mean over documents with its standard error.
Estimate estimate_of(const ByDocument& values);

// Returns the description of the source's texts for Results::text.
nlohmann::ordered_json text_of(const HeadSource& source);

// Returns the `measured` part of a plan file: the confirmed measurements.
nlohmann::ordered_json measured_json(double share, const Estimate& change, Index documents);

}  // namespace headgauge
