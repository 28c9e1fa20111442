// Reads one line of a task file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headgauge/tasks.hpp"

namespace headgauge {

class CaseParser {
 public:
  // `path` names the file in messages and gives the default name of its task.
  CaseParser(const std::string& path, const TaskReading& reading);

  // Returns none for a text whose answer has no tokens of its own (read_task_cases()). Throws
  // BadInputError, which names file and line.
  std::optional<TaskCase> parse(std::string_view text, Index line);

 private:
  const std::string& path_;
  const TaskReading& reading_;
  std::string task_;
  std::string sha256_;  // of the tokenizer, once a line has asked for it
};

}  // namespace headgauge
