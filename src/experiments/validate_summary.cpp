// Describes the findings of validate() in sentences.
#include <algorithm>
#include <cmath>
#include <optional>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/validate.hpp"
#include "results/next_commands.hpp"
#include "results/summary_line.hpp"
#include "results/value_or.hpp"

namespace headgauge {
namespace {

using summary::explained;
using summary::Line;
using summary::MaybeLine;

class ValidateSentences {
 public:
  explicit ValidateSentences(const Results& results)
      : results_(results),
        predictors_(results.coord_names("predictor")),
        interventions_(results.coord_names("intervention")) {}

  std::vector<SummaryLine> all() const {
    std::vector<SummaryLine> lines;
    for (Index k = 0; k < std::ssize(interventions_); ++k) {
      lines.push_back(
          *explained(best(k),
                     "Rho is a rank correlation over the heads: near 0 the metric says nothing "
                     "about the cost of the change; near 1 or -1 it orders the heads by that cost.",
                     next::kPlan));
    }
    for (Index p = 0; p < std::ssize(predictors_); ++p) {
      if (!predictors_[p].starts_with(kFlagPredictor)) continue;
      if (auto line = explained(flag(p),
                                "A flag that predicts nothing describes a head, and is no reason "
                                "to change it.",
                                next::kCompare)) {
        lines.push_back(std::move(*line));
      }
    }
    return lines;
  }

 private:
  std::optional<MetricCell> cell(const char* metric, Index predictor, Index intervention) const {
    return find_cell(results_, metric, {{"predictor", predictor}, {"intervention", intervention}});
  }

  void add_correlation(Line& line, Index predictor, Index intervention) const {
    line.say("rho ").number(
        require_cell(results_, metric::prediction_rank_correlation,
                     {{"predictor", predictor}, {"intervention", intervention}}));
    const auto low = cell(metric::prediction_rank_correlation_low, predictor, intervention);
    const auto high = cell(metric::prediction_rank_correlation_high, predictor, intervention);
    if (low && high) line.say(", 95 %: ").number(*low).say(" to ").number(*high);
  }

  // Adds the threshold if it is shown to hold on texts that were not used to choose it.
  void add_threshold(Line& line, Index predictor, Index intervention) const {
    const auto p = cell(metric::threshold_separation_p, predictor, intervention);
    const auto value = cell(metric::prediction_threshold, predictor, intervention);
    const auto separation = cell(metric::threshold_separation, predictor, intervention);
    if (!p || !value || !separation || !(p->value <= value_or(results_.settings, "level", 0.05)))
      return;
    line.say("; thresholds near ")
        .number(*value)
        .say(", each chosen on one text, separate the heads on the ");
    line.say("other texts with a rank-biserial correlation of ").number(*separation);
  }

  MaybeLine best(Index intervention) const {
    std::optional<Index> most;
    double largest = 0;
    for (Index p = 0; p < std::ssize(predictors_); ++p) {
      const auto found = cell(metric::prediction_rank_correlation, p, intervention);
      if (!found || !predicts(results_, p, intervention) || !(std::abs(found->value) > largest)) {
        continue;
      }
      largest = std::abs(found->value);
      most = p;
    }
    Line line;
    line.say("Under ").say(interventions_[intervention]).say(", ");
    if (!most) return line.say("no metric predicts the change of the loss.").done();
    line.say(predictors_[*most]).say(" predicts the change of the loss best (");
    add_correlation(line, *most, intervention);
    if (const auto own = find_cell(results_, metric::loss_change_replication,
                                   {{"intervention", intervention}})) {
      line.say("; the rank correlation of two texts is ").number(*own);
    }
    add_threshold(line, *most, intervention);
    return line.say(").").done();
  }

  MaybeLine flag(Index predictor) const {
    Line line;
    line.say(predictors_[predictor]);
    bool some = false, tried = false;
    for (Index k = 0; k < std::ssize(interventions_); ++k) {
      tried = tried || cell(metric::prediction_rank_correlation, predictor, k);
      if (!predicts(results_, predictor, k)) continue;
      line.say(some ? ", under " : " predicts the change of the loss under ");
      line.say(interventions_[k]).say(" (");
      add_correlation(line, predictor, k);
      line.say(")");
      some = true;
    }
    if (!tried) return std::nullopt;
    if (!some) line.say(" is not shown to predict the change of the loss");
    return line.say(".").done();
  }

  const Results& results_;
  std::span<const std::string> predictors_, interventions_;
};

}  // namespace

bool predicts(const Results& results, Index predictor, Index intervention) {
  const auto shown = find_cell(results, metric::predicts,
                               {{"predictor", predictor}, {"intervention", intervention}});
  return shown && shown->value == 1;
}

std::vector<SummaryLine> summarize_validation(const Results& results) {
  if (results.metric(metric::prediction_rank_correlation) == nullptr) return {};
  return ValidateSentences(results).all();
}

}  // namespace headgauge
