// The curves of a series, and what follows from them.
#pragma once

#include <vector>

#include "headgauge/results.hpp"
#include "statistics/inference.hpp"

namespace headgauge {

// The values of one head in one metric, where they are defined.
struct StepCurve {
  std::vector<double> steps;
  std::vector<MeanWithError> values;
};

// Returns the defined values of a metric of one head of a joined series.
StepCurve curve_of(const Results& joined, const LabelledArray& metric, Index layer, Index head);

// Returns the least-squares slope, with the errors of the values as independent.
Estimate slope_of(const StepCurve& curve);

// Tests the changes of a joined series, finds the steps of half of them, and summarises both.
void judge_changes(Results& joined, double level);

}  // namespace headgauge
