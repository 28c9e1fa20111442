// Changes how attention turns scores into weights, in a model as it stands, and measures all
// metrics again, including the loss.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/attention_plan.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"

namespace headgauge {

// An alternative to the model's own attention.
struct Intervention {
  std::string label;     // the normalizer, pattern or plan, as the user named it
  bool of_plan = false;  // whether a plan says what each head does
  HeadInterventions heads;
};

// The unit that is changed at a time.
enum class Each {
  none,   // all chosen heads at once
  layer,  // one layer at a time
  head,   // one head at a time
};

// The usual number of tokens that compare() keeps for each change.
inline constexpr int kUsualTokenLosses = 16;

struct CompareOptions {
  // What is measured. Its layers and heads choose which heads are changed. Its `examples` is the
  // number of tokens that Results::token_losses holds for each change: those whose loss the change
  // alters most. Absent: kUsualTokenLosses if the source has the text of its tokens and at most
  // kDocumentsWithExamples texts. None are kept with `each`, or if the model has no loss.
  ScanOptions scan;
  // The normalizers (see make_normalizer) or patterns (see make_pattern) that replace the model's
  // own. An entry may name several: a part after a comma that has the form key=value belongs to the
  // normalizer before it, so "ssmax:s=0.43,b=0,sparsemax" names two.
  std::vector<std::string> normalizers = {};
  std::vector<std::string> patterns = {};
  // The caller's own, in addition to the named ones. Results use the name in their info().
  std::vector<std::shared_ptr<const Normalizer>> own_normalizers = {};
  std::vector<std::shared_ptr<const Pattern>> own_patterns = {};
  Each each = Each::none;
  // The context, in tokens, for which the size of the cache is written; 0: the longest that the
  // model was trained on or, where that is unknown, the longest that is measured.
  int serve = 0;
};

std::vector<Option> options_of(CompareOptions& options);

// Makes one intervention for each normalizer or pattern of the options, for the heads chosen by
// options.scan.layers and .heads. Throws UsageError for unknown names, for duplicates, and if both
// normalizers and patterns are given.
std::vector<Intervention> make_interventions(const CompareOptions& options,
                                             const SourceInfo& source);

// Makes an intervention from those heads of a plan that the options choose. Throws BadInputError,
// which calls the plan `label`, if the plan belongs to another model. Throws UsageError if the plan
// changes heads, but none of the chosen ones.
Intervention make_intervention(const AttentionPlan& plan, const CompareOptions& options,
                               const HeadSource& source, const std::string& label);

// Measures the source unchanged, then under every intervention. The metrics of scan() get the
// dimension "normalizer" (or "pattern" if the interventions are patterns) after layer and head; its
// first entry is "original". Each metric by length gets a twin NAME_change. The metrics
// loss_change, kl and output_change are added (docs/mathematics.md 7a). With options.each, loss,
// loss_change and kl belong to the model with only that head or layer changed, and a head's metrics
// to the changed head. When `stop` is requested, returns the interventions finished so far, with
// Results::partial set.
Results compare(HeadSource& source, const CompareOptions& options,
                std::span<const Intervention> interventions, Progress* progress = nullptr,
                std::stop_token stop = {});

// Tests the gains of a comparison on a text that was not used to find them. For each head (or
// layer, or the model, depending on options.each) it chooses the intervention that lowers the loss
// most beyond chance (LossGains). It measures each choice alone, then all of them together. Adds
// loss_change_confirmed, with the dims of loss_change except length, at the longest length of
// `unseen`; it is undefined where nothing was chosen. Also adds loss_change_together, and updates
// flags and summary. `results` must come from compare() with these options and interventions. When
// `stop` is requested, marks the results as partial. Throws UnsupportedError if the model has no
// loss, and whatever compare() throws.
void confirm_gains(HeadSource& unseen, const CompareOptions& options,
                   std::span<const Intervention> interventions, Results& results,
                   Progress* progress = nullptr, std::stop_token stop = {});

// Lists the heads that some intervention changes: those with an output_change, or all heads if
// there is no output_change.
std::vector<HeadName> changed_heads(const Results& results);

// Decides which changes of the loss are gains: larger than 1e-4 nats (possible rounding error) and
// significant. Uses a one-sided Student's t-test with the degrees of freedom of the batches, at a
// false discovery rate of 5 % over everything that was tried at the longest length (Benjamini and
// Hochberg).
class LossGains {
 public:
  // `metric`: loss_change or loss_change_confirmed. The latter counts only the chosen interventions
  // as tried.
  explicit LossGains(const Results& comparison, std::string_view metric = metric::loss_change);
  bool is_gain(const MetricCell& change) const;
  // Returns the value below which a change with this standard error is a gain; undefined if there
  // is none.
  double threshold(const MetricCell& change) const;
  Index tried() const { return tried_; }  // number of changes that have a standard error

 private:
  Index tried_ = 0;
  double critical_p_ = kUndefined;  // largest p-value of a gain; undefined if there is none
};

// Describes the findings, most important first: which intervention significantly lowers the loss
// (LossGains) of the model, its layers or its heads.
std::vector<SummaryLine> summarize_comparison(const Results& results);

}  // namespace headgauge
