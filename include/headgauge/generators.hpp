// Generators of retrieval tasks in the tokens of a model (docs/tasks.md).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/options.hpp"
#include "headgauge/tasks.hpp"
#include "headgauge/texts.hpp"

namespace headgauge {

// A kind of task that headgauge can generate.
struct TaskInfo {
  std::string name;
  std::string meaning;  // what the model has to do
  std::string source;   // the benchmark that the task is after
};
std::span<const TaskInfo> task_infos();
// Throws UsageError, which begins with `where`, for an unknown name.
const TaskInfo& find_task(const std::string& name, std::string_view where = "task");

struct TaskOptions {
  std::string task;  // the name of a TaskInfo
  int length = 512;  // tokens of a prompt with its answer
  int cases = 100;
  Texts text = {};  // what facts are hidden in; empty: short neutral sentences
  int items = 0;    // keys of `keys`; 0: 4
  std::uint64_t seed = 0;
};

std::vector<Option> options_of(TaskOptions& options);

// Generates cases and passes on one after another. Each has TaskOptions::length tokens with its
// answer, and a control of the same length. The answer stands in the source and nowhere else. The
// distances are spread evenly over the context, in any run of successive cases too. A case depends
// on the options, the tokenizer and its number alone, and is the same on every machine.
// `vocabulary` is that of the model. Throws UsageError for an unknown task, an option that the task
// does not have, and a length that is too short; BadInputError for a text that is too short or
// cannot be read, and for a vocabulary with too few words; InterruptedError if a stop is requested.
void make_task_cases(const TaskOptions& options, const Tokenizer& tokenizer, Index vocabulary,
                     const std::function<void(TaskCase)>& take, const std::stop_token& stop = {});

}  // namespace headgauge
