// Writes how well predictors rank heads by an outcome (docs/mathematics.md 7c).
#pragma once

#include <vector>

#include "experiments/prediction.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

struct PredictionTables {
  std::vector<HeadTable> predictors;  // along the coordinate predictor
  std::vector<HeadTable> changes;     // of the outcome, along the coordinate intervention
};

// Writes the predictions of `outcome`, text or answers. `level`: the false discovery rate over all
// pairs of a predictor and an intervention.
void write_predictions(const PredictionTables& tables, const char* outcome,
                       const PredictionOptions& plan, double level, int threads, Results& results);

}  // namespace headgauge
