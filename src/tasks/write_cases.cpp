#include <nlohmann/json.hpp>

#include "base/strict_json.hpp"
#include "headgauge/files.hpp"
#include "headgauge/tasks.hpp"

namespace headgauge {

TaskWriter::TaskWriter(const std::string& path, const Tokenizer& tokenizer)
    : tokenizer_(tokenizer),
      sha256_(tokenizer.sha256()),
      file_(std::make_unique<AtomicFile>(path)) {}

TaskWriter::~TaskWriter() = default;

void TaskWriter::write(const TaskCase& one) {
  nlohmann::ordered_json line = {
      {"task", one.task}, {"prompt", one.prompt}, {"answer", one.answer}};
  if (!one.control.empty()) line["control"] = one.control;
  if (!one.source.empty()) line["source"] = one.source;
  if (one.distance > 0) line["distance"] = one.distance;
  line["prompt_text"] = tokenizer_.decode(one.prompt);
  line["answer_text"] = tokenizer_.decode(one.answer);
  line["tokenizer"] = sha256_;
  file_->write(json_text(line) + "\n");
}

void TaskWriter::commit() {
  file_->commit();
}

}  // namespace headgauge
