#include "plan/tasks.hpp"

#include <algorithm>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/model.hpp"
#include "plan/confirmation.hpp"
#include "plan/output.hpp"
#include "scan/answers.hpp"
#include "statistics/inference.hpp"
#include "statistics/student.hpp"

namespace headgauge {

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
  const Index longest = std::ranges::max(cases->info().documents);
  measured.results.set_coord("length", std::vector<double>{static_cast<double>(longest)});
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
  return outcomes_of(results);
}

void add_retrieval_json(const Results& results, Index budget, nlohmann::ordered_json& measured) {
  const auto of = [&](const char* metric, Index outcome) {
    return find_cell(results, metric, {{"method", 0}, {"budget", budget}, {kOutcome, outcome}});
  };
  const auto put = [](nlohmann::ordered_json& into, const std::string& key,
                      const std::optional<MetricCell>& found) {
    if (!found) return;
    into[key] = found->value;
    if (!found->has_interval()) return;
    into[key + "_low"] = found->low;
    into[key + "_high"] = found->high;
  };
  if (const auto replay = replay_of(results)) {
    put(measured, "replay_change", of(metric::planned_change, *replay));
  }
  put(measured, metric::same_token, of(metric::planned_same_token, 0));
  for (const Index task : tasks_of(results)) {
    const auto change = of(metric::planned_change, task);
    if (!change) continue;
    auto& answers = measured["answers"][results.coord_names(kOutcome)[task]];
    put(answers, "change", change);
    put(answers, "kept", of(metric::planned_answers_kept, task));
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

}  // namespace headgauge
