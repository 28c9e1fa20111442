#include "session/answered.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge {

Results answer_cases(const Input& input, const Cases& cases, const ScanOptions& options,
                     Progress* progress, const std::stop_token& stop) {
  const auto source = open_documents(input, cases.documents);
  cases.require_loss(source->info());
  ScanOptions asked;
  asked.lengths = options.lengths;
  asked.measures = {"answers"};
  asked.threads = options.threads;
  return scan(*source, asked, progress, stop);
}

std::vector<CaseGroup> done_tasks(const Cases& cases, const Results& answered) {
  std::vector<CaseGroup> groups;
  const Dimension& tasks = answered.require_coord("task");
  for (Index t = 0; t < tasks.size(); ++t) {
    const auto done = find_cell(answered, metric::does_task, {{"task", t}});
    if (!done || done->value != 1) continue;
    CaseGroup& group = groups.emplace_back(CaseGroup{tasks.label(t)});
    for (const Document& one : cases.documents) {
      if (one.answer.control_of < 0 && one.answer.task == group.name) group.cases.push_back(one);
    }
  }
  if (!groups.empty()) return groups;
  throw BadInputError(
      fault("tasks", "a task that the model is shown to do",
            fmt::format("only {}, whose answers it does not find", fmt::join(tasks.names(), ", ")),
            "see headgauge scan with these tasks, and give easier ones, or more cases"));
}

std::vector<CaseGroup> halves_of(const CaseGroup& group) {
  std::vector<CaseGroup> halves = {{group.name + ", odd cases"}, {group.name + ", even cases"}};
  for (std::size_t c = 0; c < group.cases.size(); ++c) {
    halves[c % 2].cases.push_back(group.cases[c]);
  }
  return halves;
}

void require_several(const std::vector<CaseGroup>& groups) {
  for (const CaseGroup& group : groups) {
    if (group.cases.size() >= 2) continue;
    throw BadInputError(fault("tasks", "at least 2 cases of a task, and 4 where they are halved",
                              fmt::format("{} of {}", group.cases.size(), group.name),
                              "give more cases"));
  }
}

}  // namespace headgauge
