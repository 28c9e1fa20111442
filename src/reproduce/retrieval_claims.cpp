// Paper A's claims about attention as a retriever, tested on answers (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "statistics/rank_correlation.hpp"

namespace headgauge {
namespace {

// The cases of tasks that the model does. Ranks are taken within a task, from 0 to 1: tasks differ
// in their losses.
struct AnsweredCases {
  std::vector<double> tokens, loss, right, entropy, separability, selected;
  std::vector<double> task;
  Index all = 0;  // cases, also those of the other tasks

  std::vector<double> within_tasks(const std::vector<double>& values) const {
    std::map<double, std::vector<std::size_t>> places;
    for (std::size_t c = 0; c < task.size(); ++c) places[task[c]].push_back(c);
    std::vector<double> ranked(values.size(), kUndefined);
    for (const auto& [number, of_task] : places) {
      std::vector<double> own;
      for (const std::size_t c : of_task) own.push_back(values[c]);
      const bool known = std::ranges::none_of(own, [](double value) { return std::isnan(value); });
      if (!known) continue;
      const std::vector<double> of_own = ranks(own);
      for (std::size_t i = 0; i < of_task.size(); ++i) {
        ranked[of_task[i]] = (of_own[i] - 0.5) / static_cast<double>(of_task.size());
      }
    }
    return ranked;
  }
};

AnsweredCases cases_of(const Results& results) {
  AnsweredCases found;
  const LabelledArray* loss = results.metric(metric::case_answer_loss);
  if (loss == nullptr) return found;
  found.all = std::ssize(loss->values);
  // Tasks follow the text.
  const Index first = results.require_coord(kOutcome).find(kText) ? 1 : 0;
  for (Index c = 0; c < found.all; ++c) {
    const double task = results.at(metric::case_task, {c});
    const auto done =
        find_cell(results, metric::does_task, {{kOutcome, first + static_cast<Index>(task)}});
    if (!done || done->value != 1) continue;
    found.task.push_back(task);
    const auto add = [&](std::vector<double>& values, const char* name) {
      values.push_back(results.at(name, {c}));
    };
    add(found.tokens, metric::case_tokens);
    add(found.loss, metric::case_answer_loss);
    add(found.right, metric::case_answer_right);
    add(found.entropy, metric::case_entropy);
    add(found.separability, metric::case_separability);
    add(found.selected, metric::case_selected);
  }
  return found;
}

// Returns why these cases test nothing; empty if they do.
std::string untestable(const AnsweredCases& cases) {
  if (cases.all == 0) {
    return "No cases of tasks were measured: reproduce limits MODEL --text FILE --tasks FILE, with "
           "cases of several lengths.";
  }
  if (cases.loss.empty()) {
    return fmt::format("The model is not shown to do any of the tasks ({} cases).", cases.all);
  }
  if (std::ssize(cases.loss) < kFewestPairs) {
    return fmt::format("{} cases are of tasks that the model does; {} are needed.",
                       cases.loss.size(), kFewestPairs);
  }
  const auto [shortest, longest] = std::ranges::minmax(cases.tokens);
  if (longest < 2 * shortest) {
    return fmt::format(
        "The cases have {:g} to {:g} tokens: the longest must be twice as long as the shortest.",
        shortest, longest);
  }
  if (std::ranges::all_of(cases.right, [](double right) { return right == 0; })) {
    return fmt::format("The model answers none of {} cases right: there is nothing to lose.",
                       cases.right.size());
  }
  if (std::ranges::all_of(cases.right, [](double right) { return right == 1; })) {
    return fmt::format(
        "The model answers all {} cases right, at up to {:g} tokens: no answer is "
        "lost. Longer or harder cases would test it.",
        cases.right.size(), longest);
  }
  return "";
}

double share_right(const AnsweredCases& cases, double least, double most) {
  double right = 0, count = 0;
  for (std::size_t c = 0; c < cases.right.size(); ++c) {
    if (cases.tokens[c] < least || cases.tokens[c] > most) continue;
    right += cases.right[c];
    ++count;
  }
  return right / count;
}

double median_at(const AnsweredCases& cases, const std::vector<double>& values, double tokens) {
  std::vector<double> there;
  for (std::size_t c = 0; c < values.size(); ++c) {
    if (cases.tokens[c] == tokens && !std::isnan(values[c])) there.push_back(values[c]);
  }
  return there.empty() ? kUndefined : median(std::move(there));
}

// Adds the facts that all claims have.
void add_facts(const AnsweredCases& cases, const RankCorrelation& found, Claim& claim) {
  const std::set<double> tasks(cases.task.begin(), cases.task.end());
  const auto [shortest, longest] = std::ranges::minmax(cases.tokens);
  claim.facts.insert(claim.facts.end(), {{"low", found.low},
                                         {"high", found.high},
                                         {"cases", static_cast<double>(found.pairs)},
                                         {"tasks", static_cast<double>(tasks.size())},
                                         {"tokens_least", shortest},
                                         {"tokens_most", longest}});
}

// `sign`: 1 if a growth of `values` is the sign, -1 if a fall is.
Claim sign_of_lost_answers(const Results& results, const Thresholds& thresholds,
                           const std::string& what, std::vector<double> AnsweredCases::*values,
                           int sign, std::uint32_t stream) {
  Claim claim;
  const AnsweredCases cases = cases_of(results);
  const std::string why = untestable(cases);
  if (!why.empty()) return not_tested(why);
  std::vector<double> moved = cases.within_tasks(cases.*values);
  for (double& value : moved) value *= sign;
  const std::vector<double> loss = cases.within_tasks(cases.loss);
  const RankCorrelation plain = rank_correlation(moved, loss, 0, stream);
  const RankCorrelation partial =
      partial_rank_correlation(moved, loss, cases.within_tasks(cases.tokens), 0, stream);
  if (std::isnan(partial.low) || std::isnan(partial.high)) {
    return not_tested(
        fmt::format("{} cases have a {} and an answer; {} with different "
                    "values are needed.",
                    partial.pairs, what, kFewestPairs));
  }
  claim.verdict = verdict_of_correlation({partial.low, partial.high}, thresholds.at("weak"));
  claim.measured = fmt::format(
      "Over {} cases the partial rank correlation is {:.2f} ({:.2f} to {:.2f}), without holding "
      "the length fixed {:.2f} ({:.2f} to {:.2f}).",
      partial.pairs, partial.value, partial.low, partial.high, plain.value, plain.low, plain.high);
  claim.facts = {{"partial_rank_correlation", partial.value},
                 {"rank_correlation", plain.value},
                 {"rank_correlation_low", plain.low},
                 {"rank_correlation_high", plain.high}};
  add_facts(cases, partial, claim);
  return claim;
}

}  // namespace

Claim answers_are_lost_with_context(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const AnsweredCases cases = cases_of(results);
  const std::string why = untestable(cases);
  if (!why.empty()) return not_tested(why);
  constexpr std::uint32_t kStream = 0x6c6f7374;
  const RankCorrelation found = rank_correlation(cases.within_tasks(cases.tokens),
                                                 cases.within_tasks(cases.loss), 0, kStream);
  if (std::isnan(found.low) || std::isnan(found.high)) {
    return not_tested("Every task has cases of one length only.");
  }
  claim.verdict = verdict_of_correlation({found.low, found.high}, thresholds.at("weak"));
  const auto [shortest, longest] = std::ranges::minmax(cases.tokens);
  const double few = share_right(cases, shortest, 2 * shortest - 1);
  const double many = share_right(cases, longest / 2 + 1, longest);
  const double selected_few = median_at(cases, cases.selected, shortest);
  const double selected_many = median_at(cases, cases.selected, longest);
  claim.measured = fmt::format(
      "Over {} cases of {:g} to {:g} tokens the rank correlation is {:.2f} ({:.2f} to {:.2f}); {} "
      "% of the answers of the shortest cases are right and {} % of those of the longest; the "
      "heads select {} and {} keys there.",
      found.pairs, shortest, longest, found.value, found.low, found.high, shown(100 * few),
      shown(100 * many), shown(selected_few), shown(selected_many));
  claim.facts = {{"rank_correlation", found.value},
                 {"right_shortest", few},
                 {"right_longest", many},
                 {"selected_shortest", selected_few},
                 {"selected_longest", selected_many}};
  add_facts(cases, found, claim);
  return claim;
}

Claim growing_entropy_loses_answers(const Results& results, const Thresholds& thresholds) {
  return sign_of_lost_answers(results, thresholds, "entropy", &AnsweredCases::entropy, 1,
                              0x61656e74);
}

Claim falling_separability_loses_answers(const Results& results, const Thresholds& thresholds) {
  return sign_of_lost_answers(results, thresholds, "separability", &AnsweredCases::separability, -1,
                              0x61736570);
}

}  // namespace headgauge
