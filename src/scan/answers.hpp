// Measures the answers of tasks: their loss, whether they are right, and what a change costs them
// (docs/mathematics.md 7i).
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Returns the losses of the texts, by document; those of cases are empty.
std::vector<std::vector<double>> text_losses(const SourceInfo& source,
                                             const Predictions& predictions);

// Returns whether every token of an answer is the most likely one.
bool is_right(const NextTokens& answer);

// The cases of one task, as document numbers.
struct TaskCases {
  std::string task;
  std::vector<Index> all;
  std::vector<std::vector<Index>> by_distance;    // in octaves of the distance to the source
  std::vector<std::vector<Index>> by_context;     // in octaves of the number of tokens
  std::vector<std::pair<Index, Index>> controls;  // a case, and the same without its source
};

// The cases of all tasks of a source.
class TaskSet {
 public:
  explicit TaskSet(const SourceInfo& source);
  bool empty() const { return tasks_.empty(); }
  const std::vector<TaskCases>& tasks() const { return tasks_; }
  // Adds the tasks to the outcomes, and the coordinates source_distance ("64-127") and context
  // ("257-512").
  void write_coords(Results& results) const;

 private:
  std::vector<TaskCases> tasks_;
  std::vector<std::string> distances_, contexts_;  // labels
};

// The metrics of answers, in results that have the coordinates length and those of the tasks. Cells
// start undefined. A loss of answers belongs to the longest length.
class AnswerMetrics {
 public:
  // `dims`: the dims before a metric's own. `curves`: also by distance and by context. The tasks
  // must live as long as this object.
  AnswerMetrics(const TaskSet& tasks, const std::vector<std::string>& dims, bool curves,
                Results& results);
  // Adds the metrics that compare answers with those of the original.
  void add_changes(const std::vector<std::string>& dims);
  // Fill in one cell along `dims`.
  void put(std::span<const Index> cell, const Predictions& predictions);
  void put_change(std::span<const Index> cell, const Predictions& original,
                  const Predictions& predictions);

 private:
  LabelledArray* add(const char* name, std::vector<std::string> dims, const char* also = nullptr);
  std::vector<Index> of_task(std::span<const Index> cell, std::size_t task) const;

  const TaskSet& tasks_;
  Results& results_;
  Index first_;  // place of the first task among the outcomes
  Index last_length_;
  // Those by distance and context are null without curves, loss_change_ and kept_ without changes.
  LabelledArray *loss_ = nullptr, *loss_by_distance_ = nullptr, *loss_by_context_ = nullptr;
  LabelledArray *right_ = nullptr, *right_by_distance_ = nullptr, *right_by_context_ = nullptr;
  LabelledArray *loss_change_ = nullptr, *kept_ = nullptr;
};

// Adds what tells whether the unchanged model does each task: what the source gains, and whether
// that is shown.
void write_controls(const TaskSet& tasks, const Predictions& original, Results& results);

}  // namespace headgauge
