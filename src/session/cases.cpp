#include "session/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "headgauge/tasks.hpp"

namespace headgauge {
namespace {

MarkedAnswer marked(const TaskCase& one) {
  return {.task = one.task, .distance = one.distance};
}

}  // namespace

void Cases::require_loss(const SourceInfo& source) const {
  if (documents.empty() || source.has_loss) return;
  throw UnsupportedError(fault("tasks", "a model that predicts next tokens", source.name,
                               "leave the tasks out, or give a causal model with its output"));
}

Cases load_cases(const Model& model, const TaskFiles& tasks, const std::stop_token& stop) {
  Cases found;
  if (tasks.files.empty()) return found;
  if (model.has_own_queries()) {
    throw UnsupportedError(fault("tasks", "a model that can read them",
                                 "a dump, which holds its own queries", "give a checkpoint"));
  }
  const ModelSummary& summary = model.summary();
  std::optional<Tokenizer> tokenizer;
  if (model.has_tokenizer()) tokenizer.emplace(model.tokenizer());
  const TaskReading reading{
      .tokenizer = tokenizer ? &*tokenizer : nullptr,
      .vocabulary = summary.vocabulary > 0 ? summary.vocabulary : std::numeric_limits<int>::max(),
      .most = tasks.cases,
      .stop = stop};
  std::vector<Document> controls;
  for (const std::string& file : tasks.files) {
    std::vector<TaskCase> cases;
    read_task_cases(file, reading, [&](TaskCase one) { cases.push_back(std::move(one)); });
    const std::size_t read = cases.size();
    std::erase_if(cases, [&](const TaskCase& one) {
      return summary.positions > 0 &&
             std::ssize(one.prompt) + std::ssize(one.answer) > summary.positions;
    });
    if (cases.empty()) {
      throw BadInputError(fault(file,
                                fmt::format("cases of at most {} tokens, the longest context of {}",
                                            summary.positions, model.name()),
                                "longer ones", "give shorter cases"));
    }
    if (cases.size() < read) {
      found.notices.push_back(
          fmt::format("{}: {} of {} cases are left out, because they are longer than the context "
                      "of the model, {} tokens",
                      file, read - cases.size(), read, summary.positions));
    }
    const auto untrained = std::ranges::count_if(cases, [&](const TaskCase& one) {
      return summary.trained_length > 0 &&
             std::ssize(one.prompt) + std::ssize(one.answer) > summary.trained_length;
    });
    if (untrained > 0) {
      found.notices.push_back(
          fmt::format("{}: {} of {} cases are longer than the contexts that the model was trained "
                      "on, {} tokens",
                      file, untrained, cases.size(), summary.trained_length));
    }
    for (TaskCase& one : cases) {
      const auto number = static_cast<int>(found.documents.size());
      found.documents.push_back(make_case(std::move(one.prompt), one.answer, marked(one), file));
      const Index length = std::ssize(one.control) + std::ssize(one.answer);
      if (one.control.empty() || (summary.positions > 0 && length > summary.positions)) continue;
      MarkedAnswer without_source = marked(one);
      without_source.control_of = number;
      controls.push_back(
          make_case(std::move(one.control), one.answer, std::move(without_source), file));
    }
  }
  std::ranges::move(controls, std::back_inserter(found.documents));
  return found;
}

void append_cases(const Cases& cases, std::vector<Document>& documents) {
  const auto texts = static_cast<int>(documents.size());
  for (const Document& one : cases.documents) {
    MarkedAnswer& answer = documents.emplace_back(one).answer;
    if (answer.control_of >= 0) answer.control_of += texts;
  }
}

}  // namespace headgauge
