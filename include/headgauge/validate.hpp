// Tests whether a metric of a head predicts how the loss changes when that head is changed, head by
// head and text by text (docs/validate.md).
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
  // The predictors: the metrics of scan() and converge() at the longest length.
  ScanOptions scan;
  // The changes made to one head at a time: normalizers and patterns as in compare().
  std::vector<std::string> patterns = {"sinks:sinks=4,window=60", "topk:k=16"};
  std::vector<std::string> normalizers = {"uniform", "softmax:t=0.5", "softmax:t=2"};
  int permutations = 9999;  // permutations of the heads, for a p-value
  int resamples = 1000;     // resamples of the heads, for a confidence interval
  double level = 0.05;      // false discovery rate over all correlations
  // Cost of each text, then of each group of cases, in any unit; a journal uses it to divide them
  // among processes. Empty: equal costs.
  std::vector<double> costs = {};
};

std::vector<Option> options_of(ValidateOptions& options);

// Prefix of the names of predictors that are flags.
inline constexpr const char* kFlagPredictor = "flag ";

// Opens the text or the group with this index.
using OpenPart = std::function<std::shared_ptr<HeadSource>(std::size_t part)>;

// Texts, groups of cases of tasks, or both. A group has no controls and only tasks that the model
// is shown to do; there are none or at least two groups.
struct ValidateInput {
  std::vector<std::string> texts = {};
  OpenPart open = {};
  std::vector<std::string> groups = {};
  OpenPart open_group = {};
};

// Measures every head on every text unchanged, then the change of the loss when that head alone is
// changed. With texts, the results have dims layer, head, intervention, text and predictor:
//   validated_loss_change (layer, head, intervention, text), in nats, with standard errors;
//   predictor_value (layer, head, predictor, text);
//   rank_correlation (predictor, intervention, outcome): Spearman's correlation over the heads
//     between the predictor on one text and the change of the loss on the others, averaged over
//     the texts; its interval is 95 % over resampled heads, its p that of rank_correlation_within
//     (the part within the layers): the heads of each layer permuted, two-sided, adjusted by
//     Benjamini and Hochberg over all pairs;
//   rank_correlation_by_text (predictor, intervention, text);
//   predicts (predictor, intervention, outcome): 1 if the adjusted p-value is at most `level` and
//   the
//     correlation has the same sign on every text and within the layers, else 0;
//   loss_rises, loss_falls (intervention): the number of cases (a head on a text) with a
//     significant rise or fall of the loss (Student's t, false discovery rate `level` over the
//     cases of the intervention);
//   replication (intervention, outcome): the mean rank correlation of two texts' changes;
//   queries_losing_keys (layer, head, intervention), of patterns: the mean over the texts.
// Groups of cases add the outcome `answers` to these, with the groups in place of the texts, and:
//   validated_answer_change (layer, head, intervention, cases), rank_correlation_by_cases;
//   retrieval_head (layer, head, intervention): 1 if the head is shown to lose answers;
//   found_answer_change, other_answer_change (intervention, cases): what the heads lose in a group
//     that were found on the other groups, and what the other heads lose.
// The heads are measured on the texts, of which every group gets the mean; on the cases if there is
// no text. Predictor and loss come from the same text if there is only one; a notice says so.
// Definitions: docs/mathematics.md 7c. Deterministic on any number of threads. Throws what
// compare() and converge() throw; UnsupportedError for a model without a loss; UsageError if there
// is nothing to measure on, or no intervention.
Results validate(const ValidateInput& input, const ValidateOptions& options,
                 Progress* progress = nullptr, std::stop_token stop = {});

// Returns whether the metric `predicts` is 1 for a predictor, an intervention and an outcome.
bool predicts(const Results& results, Index predictor, Index intervention, Index outcome);

std::vector<SummaryLine> summarize_validation(const Results& results);

}  // namespace headgauge
