#include "scan/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include "base/octaves.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "results/declared.hpp"
#include "results/mean_of.hpp"
#include "results/outcomes.hpp"
#include "statistics/inference.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kGainLevel = 0.05;
constexpr double kLeastRight = 0.1;  // share that a model gets right, where there are no controls

// Returns the octave (2^(k-1), 2^k] of a length, so that a power of two ends its octave.
Index octave_up_to(Index length) {
  return length > 1 ? octave_of(length - 1) + 1 : 0;
}

// Numbers the octaves that occur, ascending.
std::map<Index, std::size_t> places_of(const std::set<Index>& octaves) {
  std::map<Index, std::size_t> places;
  for (const Index octave : octaves) places.emplace(octave, places.size());
  return places;
}

// Returns the mean loss of the answer's tokens.
double loss_of(const NextTokens& answer) {
  return std::accumulate(answer.losses.begin(), answer.losses.end(), 0.0) /
         static_cast<double>(answer.losses.size());
}

// A document of another process has no predictions here.
bool is_known(const Predictions& predictions, Index document) {
  if (document >= std::ssize(predictions)) return false;
  const NextTokens& answer = predictions[document];
  return !answer.losses.empty() && answer.right.size() == answer.losses.size();
}

Estimate estimate_of(std::span<const double> values) {
  const MeanWithError mean = mean_with_error(values);
  const double alone = values.size() == 1 ? values.front() : kUndefined;
  return {values.size() > 1 ? mean.value : alone, mean.standard_error, std::ssize(values),
          mean.degrees_of_freedom};
}

std::vector<Index> with(std::span<const Index> cell, Index place) {
  std::vector<Index> full(cell.begin(), cell.end());
  full.push_back(place);
  return full;
}

}  // namespace

bool is_right(const NextTokens& answer) {
  return std::ranges::all_of(answer.right, [](std::uint8_t right) { return right != 0; });
}

std::vector<std::vector<double>> text_losses(const SourceInfo& source,
                                             const Predictions& predictions) {
  std::vector<std::vector<double>> losses(predictions.size());
  for (Index d = 0; d < std::ssize(losses); ++d) {
    if (source.is_text(d)) losses[d] = predictions[d].losses;
  }
  return losses;
}

TaskSet::TaskSet(const SourceInfo& source) {
  std::set<Index> distances, contexts;
  std::map<std::string, std::size_t> task_of;
  for (Index d = 0; d < std::ssize(source.answers); ++d) {
    const MarkedAnswer& answer = source.answers[d];
    if (answer.tokens == 0) continue;
    if (answer.distance > 0) distances.insert(octave_of(answer.distance));
    contexts.insert(octave_up_to(source.documents[d]));
    if (!task_of.emplace(answer.task, tasks_.size()).second) continue;
    tasks_.emplace_back().task = answer.task;
  }
  const auto by_distance = places_of(distances), by_context = places_of(contexts);
  for (TaskCases& task : tasks_) {
    task.by_distance.resize(distances.size());
    task.by_context.resize(contexts.size());
  }
  for (Index d = 0; d < std::ssize(source.answers); ++d) {
    const MarkedAnswer& answer = source.answers[d];
    if (answer.tokens == 0) continue;
    TaskCases& task = tasks_[task_of.at(answer.task)];
    if (answer.control_of >= 0) {
      task.controls.emplace_back(answer.control_of, d);
      continue;
    }
    task.all.push_back(d);
    task.by_context[by_context.at(octave_up_to(source.documents[d]))].push_back(d);
    if (answer.distance == 0) continue;
    task.by_distance[by_distance.at(octave_of(answer.distance))].push_back(d);
  }
  for (const Index octave : distances) distances_.push_back(octave_label(octave));
  for (const Index octave : contexts) {
    const Index last = Index{1} << octave;
    contexts_.push_back(fmt::format("{}-{}", last / 2 + 1, last));
  }
}

void TaskSet::write_coords(Results& results) const {
  std::vector<std::string> names;
  // "text" is the outcome of texts, even where there is none.
  for (const TaskCases& task : tasks_) {
    names.push_back(task.task == kText ? task.task + " (task)" : task.task);
  }
  add_outcomes(names, results);
  if (!distances_.empty()) results.set_coord("source_distance", distances_);
  results.set_coord("context", contexts_);
}

AnswerMetrics::AnswerMetrics(const TaskSet& tasks, const std::vector<std::string>& outer,
                             bool curves, Results& results)
    : tasks_(tasks),
      results_(results),
      first_(results.coord_size(kOutcome) - std::ssize(tasks.tasks())),
      last_length_(results.coord_size("length") - 1) {
  loss_ = add(metric::loss, outer, "length");
  right_ = add(metric::answer_right, outer);
  if (!curves) return;
  loss_by_context_ = add(metric::answer_loss_by_context, outer, "context");
  right_by_context_ = add(metric::answer_right_by_context, outer, "context");
  if (results.coord("source_distance") == nullptr) return;
  loss_by_distance_ = add(metric::answer_loss_by_distance, outer, "source_distance");
  right_by_distance_ = add(metric::answer_right_by_distance, outer, "source_distance");
}

void AnswerMetrics::add_changes(const std::vector<std::string>& outer) {
  loss_change_ = add(metric::loss_change, outer, "length");
  loss_change_->change_of = metric::loss;
  kept_ = add(metric::answers_kept, outer);
}

// Adds a metric over `dims`, the outcome and `also`; that of a loss may be there for the text.
LabelledArray* AnswerMetrics::add(const char* name, std::vector<std::string> dims,
                                  const char* also) {
  if (LabelledArray* there = results_.metric(name)) return there;
  dims.emplace_back(kOutcome);
  if (also != nullptr) dims.emplace_back(also);
  LabelledArray& metric = add_declared(results_, name, dims).with_rows();
  if (metric.unit == "nats") metric.with_standard_errors();
  return &metric;
}

std::vector<Index> AnswerMetrics::of_task(std::span<const Index> cell, std::size_t task) const {
  return with(cell, first_ + static_cast<Index>(task));
}

void AnswerMetrics::put(std::span<const Index> cell, const Predictions& predictions) {
  const auto put_group = [&](std::span<const Index> documents, std::span<const Index> of_loss,
                             std::span<const Index> of_right, LabelledArray& loss,
                             LabelledArray& right) {
    std::vector<double> losses;
    Index hits = 0;
    for (const Index d : documents) {
      if (!is_known(predictions, d)) continue;
      losses.push_back(loss_of(predictions[d]));
      hits += is_right(predictions[d]) ? 1 : 0;
    }
    if (losses.empty()) return;
    loss.set(of_loss, estimate_of(losses));
    right.set(of_right, share_of(hits, std::ssize(losses)));
  };
  for (std::size_t t = 0; t < tasks_.tasks().size(); ++t) {
    const TaskCases& task = tasks_.tasks()[t];
    const std::vector<Index> place = of_task(cell, t);
    put_group(task.all, with(place, last_length_), place, *loss_, *right_);
    const auto put_curve = [&](const auto& groups, LabelledArray* loss, LabelledArray* right) {
      for (std::size_t k = 0; loss != nullptr && k < groups.size(); ++k) {
        const std::vector<Index> at = with(place, static_cast<Index>(k));
        put_group(groups[k], at, at, *loss, *right);
      }
    };
    put_curve(task.by_context, loss_by_context_, right_by_context_);
    put_curve(task.by_distance, loss_by_distance_, right_by_distance_);
  }
}

void AnswerMetrics::put_change(std::span<const Index> cell, const Predictions& original,
                               const Predictions& predictions) {
  for (std::size_t t = 0; t < tasks_.tasks().size(); ++t) {
    std::vector<double> changes;
    Index were_right = 0, still_right = 0;
    for (const Index d : tasks_.tasks()[t].all) {
      if (!is_known(original, d) || !is_known(predictions, d)) continue;
      changes.push_back(loss_of(predictions[d]) - loss_of(original[d]));
      if (!is_right(original[d])) continue;
      ++were_right;
      still_right += is_right(predictions[d]) ? 1 : 0;
    }
    const std::vector<Index> place = of_task(cell, t);
    if (!changes.empty()) {
      loss_change_->set(with(place, last_length_), with_t_test(estimate_of(changes)));
    }
    if (were_right > 0) kept_->set(place, share_of(still_right, were_right));
  }
}

void write_controls(const TaskSet& tasks, const Predictions& original, Results& results) {
  LabelledArray& gain =
      add_declared(results, metric::answer_gain).with_standard_errors().with_rows();
  LabelledArray& does = add_declared(results, metric::does_task);
  const double level = kGainLevel / static_cast<double>(tasks.tasks().size());
  Index place = results.coord_size(kOutcome) - std::ssize(tasks.tasks()) - 1;
  for (const TaskCases& task : tasks.tasks()) {
    ++place;
    Index known = 0, right = 0;
    for (const Index d : task.all) {
      if (!is_known(original, d)) continue;
      ++known;
      right += is_right(original[d]) ? 1 : 0;
    }
    if (known == 0) continue;
    std::vector<double> gains;
    for (const auto& [with_source, without] : task.controls) {
      if (!is_known(original, with_source) || !is_known(original, without)) continue;
      gains.push_back(loss_of(original[without]) - loss_of(original[with_source]));
    }
    if (!gains.empty()) gain.set({place}, estimate_of(gains));
    const bool done = gains.empty() ? proportion_interval(right, known, 2 * level).low > kLeastRight
                                    : t_test(gains, 0, Tail::above).p <= level;
    does.set({place}, {.value = done ? 1.0 : 0.0});
  }
}

}  // namespace headgauge
