// Computes what the sentences about validate() say and its results do not hold as it is.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "findings/answers.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/validate.hpp"
#include "results/sentences.hpp"

namespace headgauge {
namespace {

constexpr Index kMostNamed = 20;  // heads that lose answers

// Returns the percentage of the queries of the texts, or of the cases, that lose keys under a
// pattern, a mean over the heads; nothing for a normalizer, and of cases if the heads were measured
// on texts.
std::optional<Fact> queries_losing_keys(const Results& results, Index intervention, bool of_cases) {
  if (of_cases && results.coord("text") != nullptr) return std::nullopt;
  const auto share = mean_over_heads(results, metric::queries_losing_keys, measured_heads(results),
                                     {"intervention", intervention});
  return share ? std::optional(computed(100 * *share)) : std::nullopt;
}

// The change of a loss, of text or of answers, and what predicts it.
class PredictedLoss {
 public:
  PredictedLoss(const Results& results, Index outcome, std::optional<std::string> lengths)
      : results_(results),
        outcome_(outcome),
        of_answers_(results.coord_names(kOutcome)[outcome] == kAnswers),
        lengths_(std::move(lengths)),
        predictors_(results.coord_names("predictor")),
        interventions_(results.coord_names("intervention")) {}

  void add_sentences_to(std::vector<SummaryLine>& lines) const {
    for (Index k = 0; k < std::ssize(interventions_); ++k) {
      add_sentences("intervention", results_, scope_of_intervention(k), lines);
    }
    for (Index p = 0; p < std::ssize(predictors_); ++p) {
      if (!predictors_[p].starts_with(kFlagPredictor)) continue;
      add_sentences("flag", results_, scope_of_flag(p), lines);
    }
  }

 private:
  std::optional<MetricCell> correlation(Index predictor, Index intervention) const {
    return find_cell(
        results_, metric::rank_correlation,
        {{"predictor", predictor}, {"intervention", intervention}, {kOutcome, outcome_}});
  }

  Scope scope_at(const char* dim, Index place) const {
    Scope scope({{kOutcome, outcome_}, {dim, place}});
    return scope.give("lengths", lengths_).give_if("of_answers", of_answers_);
  }

  Scope scope_of_intervention(Index intervention) const {
    Scope scope = scope_at("intervention", intervention);
    std::optional<Index> best;
    double largest = 0;
    for (Index p = 0; p < std::ssize(predictors_); ++p) {
      const auto found = correlation(p, intervention);
      if (!found) continue;
      scope.give_if("is_tried", true);
      if (!(std::abs(found->value) > largest) || !predicts(results_, p, intervention, outcome_)) {
        continue;
      }
      largest = std::abs(found->value);
      best = p;
    }
    if (best) {
      scope.give("best", Spot{{{"predictor", *best}}}).give("predictor", predictors_[*best]);
    }
    return scope.give("change", interventions_[intervention])
        .give("losing", queries_losing_keys(results_, intervention, of_answers_));
  }

  Scope scope_of_flag(Index predictor) const {
    Scope scope = scope_at("predictor", predictor);
    std::vector<Scope> all;
    for (Index k = 0; k < std::ssize(interventions_); ++k) {
      if (correlation(predictor, k)) scope.give_if("is_tried", true);
      all.emplace_back(Picks{{"intervention", k}}).give("change", interventions_[k]);
    }
    return scope.give("predictor", predictors_[predictor]).give("interventions", std::move(all));
  }

  const Results& results_;
  Index outcome_;
  bool of_answers_;
  std::optional<std::string> lengths_;
  std::span<const std::string> predictors_, interventions_;
};

// Gives the heads that lose answers alone.
void give_retrieval_heads(const Results& results, Index intervention, Scope& scope) {
  std::vector<Scope> named;
  Index count = 0, tested = 0;
  for (const HeadName& head : measured_heads(results)) {
    const auto role = find_cell(
        results, metric::retrieval_head,
        {{"layer", head.layer_index}, {"head", head.head_index}, {"intervention", intervention}});
    if (!role) continue;
    ++tested;
    if (role->value != 1) continue;
    if (++count <= kMostNamed) named.emplace_back().give("head_of_list", spot_of(head));
  }
  scope.count("with_role", count).count("tested", tested).give("with_the_role", std::move(named));
  if (count > kMostNamed) scope.count("more", count - kMostNamed);
}

// Says which heads lose answers alone, and how well the metrics that are thought to find them do.
// `answers`: the place of that outcome.
void add_retrieval_sentences(const Results& results, Index answers,
                             std::vector<SummaryLine>& lines) {
  std::vector<Scope> groups, finders;
  const Dimension& cases = results.require_coord("cases");
  for (Index g = 0; g < cases.size(); ++g) {
    groups.emplace_back(Picks{{"cases", g}}).give("group", cases.label(g));
  }
  for (const char* name : {metric::weight_induction, metric::attention_distance}) {
    const auto place = results.require_coord("predictor").find(name);
    if (place) finders.emplace_back(Picks{{"predictor", *place}}).give("predictor", name);
  }
  const auto interventions = results.coord_names("intervention");
  for (Index k = 0; k < std::ssize(interventions); ++k) {
    Scope scope({{kOutcome, answers}, {"intervention", k}});
    scope.give("case_lengths", case_lengths(results))
        .give("change", interventions[k])
        .give("groups", groups)
        .give("finders", finders);
    give_retrieval_heads(results, k, scope);
    add_sentences("retrieval", results, scope, lines);
  }
}

}  // namespace

bool predicts(const Results& results, Index predictor, Index intervention, Index outcome) {
  const auto shown =
      find_cell(results, metric::predicts,
                {{"predictor", predictor}, {"intervention", intervention}, {kOutcome, outcome}});
  return shown && shown->value == 1;
}

std::vector<SummaryLine> summarize_validation(const Results& results) {
  std::vector<SummaryLine> lines;
  const Dimension* outcomes = results.coord(kOutcome);
  if (outcomes == nullptr) return lines;
  if (const auto text = outcomes->find(kText)) {
    PredictedLoss(results, *text, range_of(results.text.tokens)).add_sentences_to(lines);
  }
  if (const auto answers = outcomes->find(kAnswers)) {
    std::ranges::move(task_sentences(results), std::back_inserter(lines));
    add_retrieval_sentences(results, *answers, lines);
    PredictedLoss(results, *answers, case_lengths(results)).add_sentences_to(lines);
  }
  return lines;
}

}  // namespace headgauge
