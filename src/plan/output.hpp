// Writes what a search found and a confirmation measured.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "plan/made.hpp"

namespace headgauge {

struct PlanRun {
  const PlanTexts& texts;
  const PlanOptions& options;
  const PlanSpace& space;
  const Screening& screening;
  const std::vector<BudgetResult>& budgets;
  int computed = 0;  // losses
  double seconds = 0;
};

PlanResults write_plan_results(const PlanRun& run);

// The mean over documents with its error.
Estimate estimate_of(const ByDocument& values);

// What Results::text says of the source's texts.
nlohmann::ordered_json text_of(const HeadSource& source);

// What a plan file says was measured of it where it was confirmed.
nlohmann::ordered_json measured_json(const SourceInfo& source, double share, const Estimate& change,
                                     Index documents);

}  // namespace headgauge
