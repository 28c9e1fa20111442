#include "findings/answers.hpp"

#include <fmt/format.h>

#include <cmath>

#include "headgauge/metric_names.hpp"
#include "results/mean_of.hpp"
#include "results/next_commands.hpp"
#include "results/outcomes.hpp"
#include "results/summary_line.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

using summary::explained;
using summary::Line;

constexpr double kLostLevel = 0.05;
constexpr double kPercent = 100;
constexpr double kLeastJudged =
    0.1;  // share of right answers of which it is said how many are kept

// Reads the metrics of one task, of the unchanged model or of an intervention.
class TaskCells {
 public:
  explicit TaskCells(const Results& results)
      : results_(results), dim_(intervention_dimension(results)), places_(tasks_of(results)) {}

  // The places of the tasks among the outcomes.
  const std::vector<Index>& places() const { return places_; }
  std::string name(Index task) const { return results_.coord_names(kOutcome)[task]; }
  const std::string& dim() const { return dim_; }

  std::optional<MetricCell> cell(const char* metric, Index task, Index intervention = 0) const {
    return find_cell(results_, metric, {{dim_, intervention}, {kOutcome, task}});
  }

  // Returns whether the unchanged model is shown to do the task.
  bool is_done(Index task) const {
    const auto done = cell(metric::does_task, task);
    return done && done->value == 1;
  }

  // Returns whether so many answers are right that the share which a change keeps says something.
  bool are_right(Index task) const {
    const auto right = cell(metric::answer_right, task);
    return right && right->low > kLeastJudged;
  }

  // Writes "88 % (76 to 95 %)".
  static void share(Line& line, const MetricCell& share) {
    line.number(share, kPercent).say(" %");
    if (share.has_interval()) line.say(" (").ends(share, kPercent).say(" %)");
  }

 private:
  const Results& results_;
  std::string dim_;
  std::vector<Index> places_;
};

}  // namespace

std::vector<SummaryLine> task_sentences(const Results& results) {
  const TaskCells tasks(results);
  const std::string at = summary::at_case_lengths(results);
  std::vector<SummaryLine> lines;
  Line done, undone;
  bool any_done = false, any_undone = false;
  for (const Index t : tasks.places()) {
    if (const auto right = tasks.cell(metric::answer_right, t)) {
      done.say(any_done ? "; " : at + "answers right: ").say(tasks.name(t)).say(" ");
      tasks.share(done, *right);
      done.say(" of ").derived(static_cast<double>(right->rows));
      any_done = true;
    }
    if (tasks.is_done(t)) continue;
    undone.say(any_undone ? "; " : at + "the model is not shown to do ");
    undone.say(tasks.name(t));
    if (const auto gain = tasks.cell(metric::answer_gain, t)) {
      undone.say(" (gain ").number(*gain);
      if (std::isfinite(gain->standard_error)) undone.say(" ± ").error(*gain);
      undone.say(" nats)");
    }
    any_undone = true;
  }
  if (any_done) {
    lines.push_back(*explained(
        done.say(".").done(),
        "An answer is right if the model gives it word for word, the most likely token each time.",
        next::kCompareTasks));
  }
  if (any_undone) {
    lines.push_back(*explained(
        undone.say(".").done(),
        "A task is done if its source is shown to lower the loss of its answers or, without "
        "controls, if more than a tenth of them are shown to be right. A task that the model does "
        "not do says nothing about a change of attention.",
        next::kCompareTasks));
  }
  return lines;
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
  const TaskCells tasks(results);
  std::vector<SummaryLine> lines;
  if (tasks.places().empty() || tasks.dim().empty()) return lines;
  const std::string at = summary::at_case_lengths(results);
  const Dimension& interventions = results.require_coord(tasks.dim());
  for (Index k = 1; k < interventions.size(); ++k) {
    Line line;
    bool any = false;
    for (const Index t : tasks.places()) {
      const auto change = tasks.cell(metric::loss_change, t, k);
      const auto kept = tasks.cell(metric::answers_kept, t, k);
      if (!tasks.is_done(t) || !change) continue;
      line.say(any ? "; " : at + "under " + interventions.label(k) + ", ");
      any = true;
      if (kept && tasks.are_right(t)) {
        line.say("the model keeps ");
        tasks.share(line, *kept);
        line.say(" of its right answers of ").say(tasks.name(t)).say(", whose loss changes by ");
      } else {
        line.say("the loss of the answers of ").say(tasks.name(t));
        if (const auto gain = tasks.cell(metric::answer_gain, t)) {
          line.say(", to which their source is worth ").number(*gain).say(" nats,");
        }
        line.say(" changes by ");
      }
      line.nats(*change);
      if (std::isfinite(change->standard_error)) line.say(" ± ").error(*change);
      line.say(" nats");
    }
    if (!any) continue;
    lines.push_back(*explained(
        line.say(".").done(),
        "What a change does to answers says whether the model still finds what stands far back; "
        "the mean loss of a text hides it.",
        next::kTasksEachLayer));
  }
  return lines;
}

bool has_task_that_is_done(const Results& results) {
  const TaskCells tasks(results);
  for (const Index t : tasks.places()) {
    if (tasks.is_done(t)) return true;
  }
  return false;
}

std::optional<std::string> lost_task(const Results& results,
                                     const std::function<std::optional<MetricCell>(Index)>& at) {
  const TaskCells tasks(results);
  Index judged = 0;
  for (const Index t : tasks.places()) judged += tasks.is_done(t) ? 1 : 0;
  for (const Index t : tasks.places()) {
    if (!tasks.is_done(t)) continue;
    const auto change = at(t);
    if (!change) continue;
    const double p = t_test(mean_of(*change), 0, Tail::above).p;
    if (p * static_cast<double>(judged) <= kLostLevel) return tasks.name(t);
  }
  return std::nullopt;
}

}  // namespace headgauge
