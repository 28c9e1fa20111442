// Generates the cases of probes: tasks that a run makes itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headgauge/session.hpp"

namespace headgauge {

// Throws UnsupportedError for a bidirectional model, which continues no prompt.
void require_continues(const ModelSummary& model);

// Generates the cases of each probe and passes them on with its name. They are as long as the run's
// longest context: the longest length that is asked for, or as far as the longest text goes or,
// without a text, the shortest case of the task files, of `shortest` tokens (0: there is none).
// They stand in the texts of the run that are as long. Throws as make_task_cases() does; UsageError
// for a text that is a pipe; UnsupportedError for a model without a tokenizer.
void make_probes(const Input& input, const TaskFiles& tasks, std::uint64_t seed, Index shortest,
                 const std::function<void(const std::string&, std::vector<TaskCase>)>& take);

}  // namespace headgauge
