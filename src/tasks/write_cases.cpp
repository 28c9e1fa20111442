#include <nlohmann/json.hpp>

#include "base/strict_json.hpp"
#include "headgauge/files.hpp"
#include "headgauge/tasks.hpp"
#include "tasks/case_texts.hpp"

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
  const CaseTexts texts = texts_of(one, tokenizer_);
  TaskCase again;
  if (tokenize_case(texts, tokenizer_, again) && again.prompt == one.prompt &&
      again.answer == one.answer) {
    line["prompt_text"] = texts.prompt;
    line["answer_text"] = texts.answer;
  }
  line["tokenizer"] = sha256_;
  file_->write(json_text(line) + "\n");
}

void TaskWriter::commit() {
  file_->commit();
}

}  // namespace headgauge
