// Writes how well predictors rank heads by an outcome (docs/mathematics.md 7c).
#pragma once

#include <vector>

#include "experiments/prediction.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Names of the metrics that are written.
struct PredictionNames {
  const char* correlation;
  const char* low;
  const char* high;
  const char* within;
  const char* p;
  const char* by_part;  // also along the rows of the tables, its last dim
  const char* predicts;
  const char* replication;
};

inline constexpr PredictionNames kOfText = {
    .correlation = metric::prediction_rank_correlation,
    .low = metric::prediction_rank_correlation_low,
    .high = metric::prediction_rank_correlation_high,
    .within = metric::prediction_rank_correlation_within,
    .p = metric::prediction_rank_correlation_p,
    .by_part = metric::prediction_rank_correlation_by_text,
    .predicts = metric::predicts,
    .replication = metric::loss_change_replication,
};
inline constexpr PredictionNames kOfAnswers = {
    .correlation = metric::answer_rank_correlation,
    .low = metric::answer_rank_correlation_low,
    .high = metric::answer_rank_correlation_high,
    .within = metric::answer_rank_correlation_within,
    .p = metric::answer_rank_correlation_p,
    .by_part = metric::answer_rank_correlation_by_cases,
    .predicts = metric::predicts_answers,
    .replication = metric::answer_change_replication,
};

struct PredictionTables {
  std::vector<HeadTable> predictors;  // along the coordinate predictor
  std::vector<HeadTable> outcomes;    // along the coordinate intervention
};

// `level`: the false discovery rate over all pairs of a predictor and an outcome.
void write_predictions(const PredictionTables& tables, const PredictionNames& names,
                       const PredictionOptions& plan, double level, int threads, Results& results);

}  // namespace headgauge
