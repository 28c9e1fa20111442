// Paper A's claims about attention as a retriever: early warnings, which ask whether changes of
// heads in the first half of a text predict the loss in the second, and answers
// (docs/reproduce.md).
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/early_warning.hpp"
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

// Returns the cases if they test something.
AnsweredCases testable_cases(Evidence& found) {
  const AnsweredCases cases = cases_of(found.results);
  found.set({{"all", cases.all}, {"cases", cases.loss.size()}, {"fewest_pairs", kFewestPairs}});
  found.need(cases.all > 0, "no_cases");
  found.need(!cases.loss.empty(), "no_task");
  found.need(std::ssize(cases.loss) >= kFewestPairs, "few_cases");
  const auto [shortest, longest] = std::ranges::minmax(cases.tokens);
  const std::set<double> tasks(cases.task.begin(), cases.task.end());
  found.set({{"shortest", shortest}, {"longest", longest}, {"tasks", tasks.size()}});
  found.need(longest >= 2 * shortest, "one_length");
  const auto right = std::ranges::count(cases.right, 1), wrong = std::ranges::count(cases.right, 0);
  found.need(wrong < std::ssize(cases.right), "all_wrong");
  found.need(right < std::ssize(cases.right), "all_right");
  return cases;
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
    if (cases.tokens[c] == tokens) there.push_back(values[c]);
  }
  return median_of(there);
}

// `sign`: 1 if a growth of `values` is the sign, -1 if a fall is.
void sign_of_lost_answers(Evidence& found, const std::string& what,
                          std::vector<double> AnsweredCases::*values, int sign,
                          std::uint32_t stream) {
  const AnsweredCases cases = testable_cases(found);
  std::vector<double> moved = cases.within_tasks(cases.*values);
  for (double& value : moved) value *= sign;
  const std::vector<double> loss = cases.within_tasks(cases.loss);
  found.set_word("what", what);
  judge_correlation(
      found, partial_rank_correlation(moved, loss, cases.within_tasks(cases.tokens), 0, stream));
  const RankCorrelation plain = rank_correlation(moved, loss, 0, stream);
  found.set("plain", plain.value);
  found.set("plain", Interval{plain.low, plain.high});
}

// `stream` selects the random numbers. With `either` a growth may warn, too.
void fall_warns(Evidence& found, const std::string& what, const char* fall, std::uint32_t stream,
                bool either = false) {
  const LabelledArray* falls = found.results.metric(fall);
  found.set({{"tokens", kFewestPieces * kShortestPiece},
             {"fewest_pieces", kFewestPieces},
             {"shortest", kShortestPiece}});
  found.set_word("what", what);
  found.set_word("fall", fall);
  found.need(falls != nullptr, "pieces");
  const std::vector<double>& first = found.results.require_metric(metric::loss_first_half).values;
  const auto rise = less(found.results.require_metric(metric::loss_second_half).values, first);
  const RankCorrelation partial = partial_rank_correlation(falls->values, rise, first, 0, stream);
  judge_correlation(found, partial);
  if (either && partial.high < 0) found.verdict = Verdict::holds;
  if (either && partial.low <= -found.threshold("weak") && partial.high >= 0) {
    found.verdict = Verdict::cannot_tell;
  }
  const RankCorrelation plain = rank_correlation(falls->values, rise, 0, stream);
  found.set({{"plain", plain.value},
             {"piece_tokens", found.results.settings.value("piece_tokens", kUndefined)},
             {"fall_median", median_of(falls->values)},
             {"rise_median", median_of(rise)}});
  found.set("plain", Interval{plain.low, plain.high});
}

}  // namespace

void answers_are_lost_with_context(Evidence& found) {
  const AnsweredCases cases = testable_cases(found);
  constexpr std::uint32_t kStream = 0x6c6f7374;
  judge_correlation(found, rank_correlation(cases.within_tasks(cases.tokens),
                                            cases.within_tasks(cases.loss), 0, kStream));
  const auto [shortest, longest] = std::ranges::minmax(cases.tokens);
  const double few = share_right(cases, shortest, 2 * shortest - 1);
  const double many = share_right(cases, longest / 2 + 1, longest);
  found.set({{"right_shortest", few},
             {"right_longest", many},
             {"percent_shortest", 100 * few},
             {"percent_longest", 100 * many},
             {"selected_shortest", median_at(cases, cases.selected, shortest)},
             {"selected_longest", median_at(cases, cases.selected, longest)}});
}

void growing_entropy_loses_answers(Evidence& found) {
  sign_of_lost_answers(found, "entropy", &AnsweredCases::entropy, 1, 0x61656e74);
}

void falling_separability_loses_answers(Evidence& found) {
  sign_of_lost_answers(found, "separability", &AnsweredCases::separability, -1, 0x61736570);
}

void entropy_warns(Evidence& found) {
  fall_warns(found, "entropy", metric::entropy_fall, 0x77656e74, true);
}

void entropy_grows_where_separability_falls(Evidence& found) {
  const auto positions = found.numbers("position");
  const auto n = judged_top_n(found.results);
  const auto before =
      positions.empty() ? positions.end() : std::ranges::find(positions, positions.back() / 2);
  std::vector<double> growths, falls;
  if (before != positions.end() && n) {
    const auto at = [&](const char* metric, Index position) {
      return found.of_heads(twin_by_position(metric), {{"position", position}, {"top_n", *n}},
                            Heads::without_window);
    };
    const Index first = before - positions.begin(), last = std::ssize(positions) - 1;
    const char* separability = metric::separability_excess;
    growths = less(at(metric::entropy_normalized_with_sinks, last),
                   at(metric::entropy_normalized_with_sinks, first));
    falls = less(at(separability, first), at(separability, last));
    found.set({{"first", positions.back() / 2}, {"last", positions.back()}});
  }
  constexpr std::uint32_t kStream = 0x77686561;
  judge_correlation(found, rank_correlation(growths, falls, 0, kStream));
  found.set({{"growth_median", median_of(growths)}, {"fall_median", median_of(falls)}});
}

void falling_separability_warns(Evidence& found) {
  fall_warns(found, "separability", metric::separability_fall, 0x77736570);
}

}  // namespace headgauge
