// Sentences about the answers of tasks (docs/mathematics.md 7i).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Returns the range of these lengths, such as "498 to 512"; nothing if there are none.
std::optional<std::string> range_of(std::span<const Index> lengths);

// Returns that of the cases of all tasks.
std::optional<std::string> case_lengths(const Results& results);

// Says how many answers of each task the unchanged model gets right, and which tasks say nothing
// because it is not shown to do them. None without tasks.
std::vector<SummaryLine> task_sentences(const Results& results);

// Adds what the unchanged model answers to results that have lengths: its tasks, the outcomes of
// `answered`, follow the other outcomes. Returns the place of the first.
Index copy_answers(const Results& answered, Results& results);

// Says for each intervention in the whole model how the loss of answers changes and, if more than a
// tenth are shown to be right, which share of these it keeps, for the tasks that the unchanged
// model does.
std::vector<SummaryLine> answer_change_sentences(const Results& results);

// Returns whether the results have a task that the unchanged model does.
bool has_task_that_is_done(const Results& results);

// Returns the first such task whose answers are shown to lose (one-sided t over cases of
// loss_change, 5 % over all these tasks by Bonferroni); nothing if none is. `at` gives the
// cell of that change for a task, if there is one.
std::optional<std::string> lost_task(const Results& results,
                                     const std::function<std::optional<MetricCell>(Index)>& at);

}  // namespace headgauge
