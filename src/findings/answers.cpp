#include "findings/answers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headgauge/metric_names.hpp"
#include "results/mean_of.hpp"
#include "results/outcomes.hpp"
#include "results/sentences.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kLostLevel = 0.05;

// Returns whether the unchanged model is shown to do the task.
bool is_done(const Results& results, Index task) {
  const std::string dim = intervention_dimension(results);
  const auto done = find_cell(results, metric::does_task, {{dim, 0}, {kOutcome, task}});
  return done && done->value == 1;
}

Scope scope_of_tasks(const Results& results) {
  Scope scope;
  std::vector<Scope> tasks;
  for (const Index task : tasks_of(results)) {
    tasks.emplace_back(Picks{{kOutcome, task}}).give("task", results.coord_names(kOutcome)[task]);
  }
  return scope.give("case_lengths", case_lengths(results)).give("tasks", std::move(tasks));
}

}  // namespace

std::optional<std::string> range_of(std::span<const Index> lengths) {
  if (lengths.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(lengths);
  return least < most ? fmt::format("{} to {}", least, most) : fmt::format("{}", most);
}

std::optional<std::string> case_lengths(const Results& results) {
  std::vector<Index> tokens;
  for (const TaskRecord& task : results.text.tasks) {
    tokens.insert(tokens.end(), {task.shortest, task.tokens});
  }
  return range_of(tokens);
}

std::vector<SummaryLine> task_sentences(const Results& results) {
  Scope scope = scope_of_tasks(results);
  scope.picks = {{intervention_dimension(results), 0}};
  return sentences_about("tasks", results, scope);
}

Index copy_answers(const Results& answered, Results& results) {
  const std::vector<std::string> tasks = outcomes_of(answered);
  const Index first = add_outcomes(tasks, results);
  for (const char* name :
       {metric::loss, metric::answer_right, metric::answer_gain, metric::does_task}) {
    const LabelledArray* from = answered.metric(name);
    if (from == nullptr) continue;
    if (results.metric(name) == nullptr) {
      std::vector<Dimension> dims;
      for (const std::string& dim : from->dim_names()) dims.push_back(results.require_coord(dim));
      results.add_metric(name, undefined_like(*from, std::move(dims)));
    }
    LabelledArray& to = *results.metric(name);
    for (Index t = 0; t < std::ssize(tasks); ++t) {
      std::vector<Index> there = {t}, here = {first + t};
      if (from->has_dim("length")) {  // of the longest
        there.push_back(answered.coord_size("length") - 1);
        here.push_back(results.coord_size("length") - 1);
      }
      to.set(here, from->at(there));
    }
  }
  return first;
}

std::vector<SummaryLine> answer_change_sentences(const Results& results) {
  std::vector<SummaryLine> lines;
  const std::string dim = intervention_dimension(results);
  if (tasks_of(results).empty() || dim.empty()) return lines;
  Scope scope = scope_of_tasks(results);
  scope.give("unchanged", Spot{{{dim, 0}}});
  const Dimension& interventions = results.require_coord(dim);
  for (Index k = 1; k < interventions.size(); ++k) {
    scope.picks = {{dim, k}};
    scope.give("change", interventions.label(k));
    add_sentences("changed_tasks", results, scope, lines);
  }
  return lines;
}

bool has_task_that_is_done(const Results& results) {
  return std::ranges::any_of(tasks_of(results), [&](Index t) { return is_done(results, t); });
}

std::optional<std::string> lost_task(const Results& results,
                                     const std::function<std::optional<MetricCell>(Index)>& at) {
  std::vector<Index> done = tasks_of(results);
  std::erase_if(done, [&](Index task) { return !is_done(results, task); });
  for (const Index task : done) {
    const auto change = at(task);
    if (!change) continue;
    const double p = t_test(mean_of(*change), 0, Tail::above).p;
    if (p * static_cast<double>(done.size()) <= kLostLevel) {
      return results.coord_names(kOutcome)[task];
    }
  }
  return std::nullopt;
}

}  // namespace headgauge
