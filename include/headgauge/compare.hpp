// Changes what attention does with its scores, in a model as it stands, and measures everything
// again, the loss included.
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
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"

namespace headgauge {

// Another way of attending, set against the model's own.
struct Intervention {
  std::string label;  // the normalizer or pattern as the user named it
  HeadInterventions heads;
  PerHead<double> fitted;            // the parameter that fit_interventions() chose; empty: none
  std::string fitted_key;            // and its name
  std::vector<std::string> notices;  // what fit_interventions() has to say
};

// What is changed at a time.
enum class Each {
  none,   // all heads chosen, at once
  layer,  // one layer by itself, then the next
  head,   // one head by itself, then the next
};

struct CompareOptions {
  ScanOptions scan;  // what is measured; layers and heads choose what is changed
  // The normalizers (see make_normalizer), or the patterns (see make_pattern), that take the place
  // of the model's own. An entry may name several: "ssmax:s=0.43,b=0,sparsemax" is two, for a comma
  // followed by key= goes on with the normalizer before it.
  std::vector<std::string> normalizers = {};
  std::vector<std::string> patterns = {};
  // Of the caller, beside those that are named; results call them by the name in their info().
  std::vector<std::shared_ptr<const Normalizer>> own_normalizers = {};
  std::vector<std::shared_ptr<const Pattern>> own_patterns = {};
  Each each = Each::none;
};

std::vector<Option> options_of(CompareOptions& options);

// Makes an intervention for each normalizer or each pattern of the options, for the heads chosen by
// options.scan.layers and .heads. Throws UsageError for what is unknown or named twice, or where
// there are both normalizers and patterns.
std::vector<Intervention> make_interventions(const CompareOptions& options,
                                             const SourceInfo& source);

// Makes one of a plan, of those of its heads that the options choose. Throws BadInputError, which
// calls the plan `label`, where it is of another model, and UsageError where it changes heads, but
// none of those.
Intervention make_intervention(const AttentionPlan& plan, const CompareOptions& options,
                               const HeadSource& source, const std::string& label);

// Chooses the parameter of every intervention, head by head, that changes the head's output least
// on the text of `source` (at the longest length): from a grid, then twice from a finer one about
// its best. Normalizers without a parameter, and those whose parameter was given, stay as they are;
// Intervention::notices says so, and where a best value lies at the end of the range.
void fit_interventions(HeadSource& source, const CompareOptions& options,
                       std::vector<Intervention>& interventions, Progress* progress = nullptr,
                       std::stop_token stop = {});

// Measures the source as it is, then under every intervention. The metrics of scan() get the
// dimension "normalizer" or, where interventions are patterns, "pattern" after layer and head,
// whose first entry is "original", and those by length a twin NAME_change; new are loss_change, kl
// and output_change (docs/mathematics.md 7a). With options.each, loss, loss_change and kl are those
// of the model with one head or layer changed, and the metrics of a head those that it then has.
// When `stop` is requested, the interventions finished so far are returned with Results::partial
// set.
Results compare(HeadSource& source, const CompareOptions& options,
                std::span<const Intervention> interventions, Progress* progress = nullptr,
                std::stop_token stop = {});

// Tries the gains of a comparison on a text that had no part in finding them: of each head (layer,
// the model, as options.each says) the intervention that lowers the loss most beyond chance
// (LossGains), by itself, then all of them together. Adds loss_change_confirmed, with the dims of
// loss_change but length, at the longest length that `unseen` has, undefined where nothing was
// chosen, and loss_change_together; flags and summary follow it. `results` is what compare() gave
// for these options and interventions. When `stop` is requested, marks the results as partial.
// Throws UnsupportedError where there is no loss, and what compare() throws.
void confirm_gains(HeadSource& unseen, const CompareOptions& options,
                   std::span<const Intervention> interventions, Results& results,
                   Progress* progress = nullptr, std::stop_token stop = {});

// Lists the heads that some intervention changes: those with an output_change, or all if there is
// none.
std::vector<HeadName> changed_heads(const Results& results);

// Tells which changes of the loss are gains: over 1e-4 nats, what rounding could do, and beyond
// chance. Student's t is one-sided with the degrees of freedom of the batches; over all that was
// tried at the longest length at most 5 % of the gains are there by chance (Benjamini and
// Hochberg).
class LossGains {
 public:
  // `metric`: loss_change, or loss_change_confirmed, of which only what was chosen was tried.
  explicit LossGains(const Results& comparison, std::string_view metric = "loss_change");
  bool is_gain(const MetricCell& change) const;
  // The value below which a change of this error is a gain; undefined where none is.
  double threshold(const MetricCell& change) const;
  Index tried() const { return tried_; }  // that have a standard error

 private:
  Index tried_ = 0;
  double critical_p_ = kUndefined;  // of a gain; undefined where there is none
};

// Says what was found, most important first: which intervention lowers the loss for sure
// (LossGains), for the model, its layers or its heads.
std::vector<SummaryLine> summarize_comparison(const Results& results);

}  // namespace headgauge
