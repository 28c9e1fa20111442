// Writes what a search found and a confirmation measured.
#pragma once

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

}  // namespace headgauge
