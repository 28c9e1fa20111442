// Does a metric of a head predict what becomes of the loss when that head is changed? Measured,
// head by head and text by text (docs/validity.md).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/scan.hpp"

namespace headgauge {

struct ValidateOptions {
  // What predicts: the metrics of scan() and converge() at the longest length.
  ScanOptions scan;
  // What is done to one head at a time: normalizers and patterns as compare() takes them.
  std::vector<std::string> patterns = {"sinks:sinks=4,window=60", "topk:k=16"};
  std::vector<std::string> normalizers = {"uniform", "softmax:t=0.5", "softmax:t=2"};
  int permutations = 9999;  // of the heads, for a p-value
  int resamples = 1000;     // of the heads, for an interval
  double level = 0.05;      // of the false discovery rate among all correlations
  // Of each text, in any unit, where a journal deals them out; empty: all are alike.
  std::vector<double> text_costs = {};
};

std::vector<Option> options_of(ValidateOptions& options);

// What the names of predictors that are flags begin with.
inline constexpr const char* kFlagPredictor = "flag ";

// Opens text number k of those that are named.
using OpenText = std::function<std::shared_ptr<HeadSource>(std::size_t text)>;

// Measures every head on every text as it is, then the change of the loss when one head alone is
// changed. The results have dims layer, head, intervention, text and predictor:
//   validated_loss_change (layer, head, intervention, text), in nats, with standard errors;
//   predictor_value (layer, head, predictor, text);
//   prediction_rank_correlation (predictor, intervention): Spearman's correlation over the heads
//     between the predictor on one text and the change of the loss on the others, the mean over the
//     texts; with _low and _high (95 %, resampled heads), _p (permuted heads, two-sided, adjusted
//     by Benjamini and Hochberg over all pairs);
//   prediction_rank_correlation_by_text (predictor, intervention, text);
//   prediction_threshold, threshold_separation, threshold_separation_p (predictor, intervention):
//   the
//     threshold that tells heads apart best, chosen on one text, and what it tells on the others;
//   loss_rises, loss_falls (intervention): in how many cases, heads on texts, the loss is shown to
//     rise or fall (Student's t, false discovery rate of `level` over the intervention's cases);
//   loss_change_replication (intervention): the mean rank correlation of two texts' changes.
// With one text, predictor and loss are of the same text, which a notice says.
// Definitions: docs/mathematics.md 7c. Deterministic on any number of threads.
// Throws what compare() and converge() throw; UnsupportedError for a model without a loss;
// UsageError where there is no text or no intervention.
Results validate(std::span<const std::string> texts, const OpenText& open,
                 const ValidateOptions& options, Progress* progress = nullptr,
                 std::stop_token stop = {});

// Whether a predictor predicts the loss under an intervention: its adjusted p-value is at most the
// level, and its correlation has the same sign on every text.
bool predicts(const Results& results, Index predictor, Index intervention);

std::vector<SummaryLine> summarize_validation(const Results& results);

}  // namespace headgauge
