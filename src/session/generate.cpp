// Writes generated tasks in the tokens of a model.
#include <fmt/format.h>

#include "headgauge/session.hpp"
#include "session/probes.hpp"
#include "session/running.hpp"

namespace headgauge {

void write_task(const Model& model, const TaskOptions& options, const std::string& path,
                const std::stop_token& stop) {
  if (model.has_own_queries()) {
    throw UnsupportedError(
        fault("task", "a model with a tokenizer", "a dump file", "give the checkpoint"));
  }
  const ModelSummary& summary = model.summary();
  require_continues(summary);
  if (summary.positions > 0 && options.length > summary.positions) {
    throw UsageError(fault(fmt::format("TaskOptions::length = {}", options.length),
                           fmt::format("at most {} tokens, the model's context", summary.positions),
                           "more", "give a shorter length"));
  }
  TaskOptions asked = options;
  require_unread(path, files_read(model, {}, options_of(asked)));
  const Tokenizer tokenizer = model.tokenizer();
  TaskWriter writer(path, tokenizer);
  make_task_cases(
      options, tokenizer, summary.vocabulary, [&](const TaskCase& one) { writer.write(one); },
      stop);
  writer.commit();
}

}  // namespace headgauge
