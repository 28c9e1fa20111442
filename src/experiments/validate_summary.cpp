// Describes the findings of validate() in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "findings/answers.hpp"
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

// Returns the share of the queries of the texts, or of the cases, that lose keys under a pattern, a
// mean over the heads; nothing for a normalizer, and of cases if the heads were measured on texts.
std::optional<double> share_losing_keys(const Results& results, Index intervention, bool of_cases) {
  if (of_cases && results.coord("text") != nullptr) return std::nullopt;
  return mean_over_heads(results, metric::queries_losing_keys, measured_heads(results),
                         {"intervention", intervention});
}

// Adds "rho 0.43, 95 %: 0.31 to 0.55".
void add_correlation(Line& line, const MetricCell& rho) {
  line.say("rho ").number(rho);
  if (rho.has_interval()) line.say(", 95 %: ").ends(rho);
}

// Sentences about the loss of text or of answers.
class ValidateSentences {
 public:
  // `at`: "At L = 512, ", with the lengths of the texts or of the cases.
  ValidateSentences(const Results& results, Index outcome, std::string at)
      : results_(results),
        place_(outcome),
        of_answers_(results.coord_names(kOutcome)[outcome] == kAnswers),
        at_(std::move(at)),
        outcome_(of_answers_ ? "the loss of answers" : "the loss"),
        part_(of_answers_ ? "group" : "text"),
        predictors_(results.coord_names("predictor")),
        interventions_(results.coord_names("intervention")) {}

  std::vector<SummaryLine> all() const {
    std::vector<SummaryLine> lines;
    for (Index k = 0; k < std::ssize(interventions_); ++k) {
      auto line = explained(best(k),
                            "Rho is a rank correlation over the heads: near 0 the metric says "
                            "nothing about the cost of the change; near 1 or -1 it orders the "
                            "heads by that cost.",
                            next::kPlan);
      if (line) lines.push_back(std::move(*line));
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
  std::optional<MetricCell> correlation(Index predictor, Index intervention) const {
    return find_cell(
        results_, metric::rank_correlation,
        {{"predictor", predictor}, {"intervention", intervention}, {kOutcome, place_}});
  }
  bool is_shown(Index predictor, Index intervention) const {
    return predicts(results_, predictor, intervention, place_);
  }

  MaybeLine best(Index intervention) const {
    std::optional<Index> most;
    double largest = 0;
    bool tried = false;
    for (Index p = 0; p < std::ssize(predictors_); ++p) {
      const auto found = correlation(p, intervention);
      tried = tried || found;
      if (!found || !is_shown(p, intervention) || !(std::abs(found->value) > largest)) continue;
      largest = std::abs(found->value);
      most = p;
    }
    if (!tried) return std::nullopt;
    Line line;
    line.say(at_).say("under ").say(interventions_[intervention]).say(", ");
    if (const auto losing = share_losing_keys(results_, intervention, of_answers_)) {
      line.say("where ").derived(100 * *losing).say(" % of the queries lose keys, ");
    }
    if (!most)
      return line.say("no metric is shown to predict the change of ").say(outcome_).say(".").done();
    line.say(predictors_[*most]).say(" predicts the change of ").say(outcome_).say(" best (");
    add_correlation(line, *correlation(*most, intervention));
    if (const auto own = find_cell(results_, metric::replication,
                                   {{"intervention", intervention}, {kOutcome, place_}})) {
      line.say("; the rank correlation of two ").say(part_).say("s is ").number(*own);
    }
    return line.say(").").done();
  }

  MaybeLine flag(Index predictor) const {
    Line line;
    line.say(at_).say(predictors_[predictor]);
    bool some = false, tried = false;
    for (Index k = 0; k < std::ssize(interventions_); ++k) {
      tried = tried || correlation(predictor, k);
      if (!is_shown(predictor, k)) continue;
      line.say(some ? ", under " : " predicts the change of " + outcome_ + " under ");
      line.say(interventions_[k]).say(" (");
      add_correlation(line, *correlation(predictor, k));
      line.say(")");
      some = true;
    }
    if (!tried) return std::nullopt;
    if (!some) line.say(" is not shown to predict the change of ").say(outcome_);
    return line.say(".").done();
  }

  const Results& results_;
  Index place_;  // of the outcome
  bool of_answers_;
  std::string at_, outcome_, part_;
  std::span<const std::string> predictors_, interventions_;
};

// Names the heads that lose answers alone: "17.3 20.6".
class RetrievalSentences {
 public:
  // `answers`: the place of that outcome.
  RetrievalSentences(const Results& results, Index answers)
      : results_(results), outcome_(answers), interventions_(results.coord_names("intervention")) {}

  std::vector<SummaryLine> all() const {
    std::vector<SummaryLine> lines;
    for (Index k = 0; k < std::ssize(interventions_); ++k) {
      lines.push_back(*explained(
          found(k),
          "Such a head has the role retrieval: the model needs what this head sees far back.",
          next::kCompareTasks));
      if (auto line = explained(
              named(k),
              "A metric that predicts the loss of answers finds such heads without any task.",
              next::kPlan)) {
        lines.push_back(std::move(*line));
      }
    }
    return lines;
  }

 private:
  static constexpr Index kMostNamed = 20;

  MaybeLine found(Index intervention) const {
    std::vector<HeadName> with_role;
    int heads = 0;
    for (const HeadName& head : measured_heads(results_)) {
      const auto role = find_cell(
          results_, metric::retrieval_head,
          {{"layer", head.layer_index}, {"head", head.head_index}, {"intervention", intervention}});
      if (!role) continue;
      ++heads;
      if (role->value == 1) with_role.push_back(head);
    }
    const Index count = std::ssize(with_role);
    Line line;
    line.say(at_).derived(static_cast<double>(count)).say(" of ").derived(heads);
    line.say(count == 1 ? " heads is" : " heads are");
    line.say(" shown to lose answers under ").say(interventions_[intervention]);
    line.say(count == 1 ? ", changed alone" : ", each changed alone");
    for (Index i = 0; i < std::min(count, kMostNamed); ++i) {
      line.say(i == 0 ? ": " : " ").head_name(with_role[i]);
    }
    if (count > kMostNamed) {
      line.say(" and ").derived(static_cast<double>(count - kMostNamed)).say(" more");
    }
    const Dimension& groups = results_.require_coord("cases");
    bool some = false;
    for (Index g = 0; g < groups.size(); ++g) {
      const auto cell = [&](const char* name) {
        return find_cell(results_, name, {{"intervention", intervention}, {"cases", g}});
      };
      const auto those = cell(metric::found_answer_change),
                 others = cell(metric::other_answer_change);
      if (!those || !others) continue;
      line.say(some ? "; " : ". Heads found on the other cases lose ").nats(*those);
      line.say(" nats on ").say(groups.label(g)).say(", other heads ").nats(*others);
      some = true;
    }
    return line.say(".").done();
  }

  // Says how well the metrics that are thought to find such heads do so.
  MaybeLine named(Index intervention) const {
    Line line;
    bool some = false;
    for (const char* name : {metric::weight_induction, metric::attention_distance}) {
      const auto place = results_.require_coord("predictor").find(name);
      if (!place) continue;
      const auto rho =
          find_cell(results_, metric::rank_correlation,
                    {{"predictor", *place}, {"intervention", intervention}, {kOutcome, outcome_}});
      if (!rho) continue;
      line.say(some ? ", " : at_ + "under " + interventions_[intervention] + ", ").say(name);
      line.say(predicts(results_, *place, intervention, outcome_) ? " predicts"
                                                                  : " is not shown to predict");
      line.say(" the change of the loss of answers (");
      add_correlation(line, *rho);
      line.say(")");
      some = true;
    }
    if (!some) return std::nullopt;
    return line.say(".").done();
  }

  const Results& results_;
  Index outcome_;
  std::span<const std::string> interventions_;
  std::string at_ = summary::at_case_lengths(results_);
};

}  // namespace

bool predicts(const Results& results, Index predictor, Index intervention, Index outcome) {
  const auto shown =
      find_cell(results, metric::predicts,
                {{"predictor", predictor}, {"intervention", intervention}, {kOutcome, outcome}});
  return shown && shown->value == 1;
}

std::vector<SummaryLine> summarize_validation(const Results& results) {
  std::vector<SummaryLine> lines;
  const auto add = [&](std::vector<SummaryLine> more) {
    std::ranges::move(more, std::back_inserter(lines));
  };
  const Dimension* outcomes = results.coord(kOutcome);
  if (outcomes == nullptr) return lines;
  if (const auto text = outcomes->find(kText)) {
    add(ValidateSentences(results, *text, summary::at_lengths(results.text.tokens)).all());
  }
  if (const auto answers = outcomes->find(kAnswers)) {
    add(task_sentences(results));
    add(RetrievalSentences(results, *answers).all());
    add(ValidateSentences(results, *answers, summary::at_case_lengths(results)).all());
  }
  return lines;
}

}  // namespace headgauge
