#include "plan/tasks.hpp"

#include <algorithm>
#include <cmath>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/model.hpp"
#include "plan/decisions.hpp"
#include "plan/output.hpp"
#include "results/declared.hpp"
#include "results/mean_of.hpp"
#include "scan/answers.hpp"
#include "statistics/inference.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// A metric with the ends of its interval.
struct WithInterval {
  WithInterval(Results& results, const char* name, const char* low_name, const char* high_name)
      : value(add_declared(results, name).with_standard_errors().with_rows()),
        low(add_declared(results, low_name)),
        high(add_declared(results, high_name)) {}
  void set(std::span<const Index> cell, const Estimate& estimate, const Interval& interval) {
    value.set(cell, estimate);
    low.set(cell, {.value = interval.low});
    high.set(cell, {.value = interval.high});
  }
  void set(std::span<const Index> cell, const ByDocument& changes) {
    const Estimate estimate = estimate_of(changes);
    set(cell, estimate, t_interval(mean_of(estimate)));
  }

  LabelledArray& value;
  LabelledArray& low;
  LabelledArray& high;
};

// Sets the share of the answers that the model gets right and that stay right. `changes` has -1
// for an answer that is lost. A mean over draws has no interval.
void set_kept(WithInterval& kept, std::span<const Index> cell, const ByDocument& original,
              const ByDocument& changes, bool is_mean) {
  Index were_right = 0;
  double still_right = 0;
  for (std::size_t c = 0; c < original.size(); ++c) {
    if (original[c] != 1) continue;
    ++were_right;
    still_right += 1 + changes[c];
  }
  if (were_right == 0) return;
  const Estimate share{.value = still_right / static_cast<double>(were_right), .rows = were_right};
  kept.set(cell, share,
           is_mean ? Interval{kUndefined, kUndefined}
                   : proportion_interval(std::llround(still_right), were_right));
}

std::vector<std::string> task_names(const Results& results) {
  if (results.coord("task") == nullptr) return {};
  const auto names = results.coord_names("task");
  return {names.begin(), names.end()};
}

}  // namespace

MeasuredTasks measure_tasks(HeadSource* cases, const std::stop_token& stop) {
  MeasuredTasks measured;
  if (cases == nullptr) return measured;
  cases->intervene({});
  const auto documents = static_cast<int>(std::ssize(cases->info().documents));
  for (int layer = 0; layer < cases->info().layers; ++layer) {
    for (int d = 0; d < documents; ++d) {
      if (stop.stop_requested()) throw Stopped();
      cases->layer(layer, d);
    }
  }
  Predictions original;
  for (int d = 0; d < documents; ++d) original.push_back(cases->next_tokens(d));
  const TaskSet tasks(cases->info());
  tasks.write_coords(measured.results);
  AnswerMetrics(tasks, {}, false, measured.results).put({}, original);
  write_controls(tasks, original, measured.results);
  for (Index t = 0; t < std::ssize(tasks.tasks()); ++t) {
    if (measured.results.at(metric::does_task, {t}) != 1) continue;
    measured.done.push_back(tasks.tasks()[static_cast<std::size_t>(t)].task);
  }
  return measured;
}

std::vector<std::string> MeasuredTasks::names() const {
  return task_names(results);
}

void add_retrieval_json(const Results& results, Index budget, nlohmann::ordered_json& measured) {
  const auto put = [&](nlohmann::ordered_json& into, const char* key, const std::string& metric,
                       std::initializer_list<Pick> cell) {
    for (const std::string end : {"", "_low", "_high"}) {
      if (const auto found = find_cell(results, metric + end, cell)) into[key + end] = found->value;
    }
  };
  put(measured, "replay_change", metric::planned_replay_change,
      {{"method", 0}, {"budget", budget}});
  put(measured, metric::same_token, metric::planned_same_token,
      {{"method", 0}, {"budget", budget}});
  const std::vector<std::string> names = task_names(results);
  for (Index t = 0; t < std::ssize(names); ++t) {
    const std::initializer_list<Pick> cell = {{"method", 0}, {"budget", budget}, {"task", t}};
    if (!find_cell(results, metric::planned_answer_change, cell)) continue;
    auto& answers = measured["answers"][names[static_cast<std::size_t>(t)]];
    put(answers, "change", metric::planned_answer_change, cell);
    put(answers, "kept", metric::planned_answers_kept, cell);
  }
}

bool replays(const Judged& check, const Judged& confirm) {
  std::vector<double> gains;
  for (const Judged* one : {&check, &confirm}) {
    for (std::size_t d = 0; d < one->replay.size(); ++d) {
      gains.push_back(one->first_reading[d] - one->replay[d]);
    }
  }
  return gains.size() > 1 && t_test(gains, 0, Tail::above).p <= kShown;
}

void write_tasks(const MeasuredTasks& tasks, const std::vector<std::string>& confirmed,
                 const Judged& original, const std::vector<BudgetResult>& budgets,
                 Results& results) {
  if (!original.replay.empty()) {
    WithInterval replay(results, metric::planned_replay_change, metric::planned_replay_change_low,
                        metric::planned_replay_change_high);
    for (Index b = 0; b < std::ssize(budgets); ++b) {
      const auto& methods = budgets[static_cast<std::size_t>(b)].methods;
      for (Index m = 0; m < kMethods; ++m) {
        const Judged& change = methods[static_cast<std::size_t>(m)].change;
        if (!change.replay.empty()) replay.set(std::vector{m, b}, change.replay);
      }
    }
  }
  if (tasks.results.metrics.empty()) return;
  results.set_coord("task", tasks.names());
  for (const auto& [name, metric] : tasks.results.metrics)
    results.metrics.emplace_back(name, metric);
  WithInterval change(results, metric::planned_answer_change, metric::planned_answer_change_low,
                      metric::planned_answer_change_high);
  WithInterval kept(results, metric::planned_answers_kept, metric::planned_answers_kept_low,
                    metric::planned_answers_kept_high);
  const auto names = results.coord_names("task");
  for (std::size_t t = 0; t < confirmed.size(); ++t) {
    const Index task = std::ranges::find(names, confirmed[t]) - names.begin();
    for (Index b = 0; b < std::ssize(budgets); ++b) {
      const auto& methods = budgets[static_cast<std::size_t>(b)].methods;
      for (Index m = 0; m < kMethods; ++m) {
        const Judged& of_method = methods[static_cast<std::size_t>(m)].change;
        if (of_method.answers.empty()) continue;
        const std::vector<Index> cell = {m, b, task};
        change.set(cell, of_method.answers[t]);
        set_kept(kept, cell, original.right[t], of_method.right[t],
                 m == static_cast<Index>(Method::random));
      }
    }
  }
}

}  // namespace headgauge
