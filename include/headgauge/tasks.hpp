// Retrieval tasks: prompts whose answer stands in them (docs/tasks.md). A task file has one case a
// line.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge {

class AtomicFile;

// A prompt and what a model should continue it with, as token ids. Texts of both are tokenized as
// one: the answer is what follows the tokens of the prompt.
struct TaskCase {
  std::string task;         // the kind of task: "passkey"
  std::vector<int> prompt;  // with the special tokens that the tokenizer puts before a text
  std::vector<int> answer;  // at least one
  // The prompt with other tokens in place of the source, which shows what the model answers
  // without it. Cases of headgauge have as many tokens as the prompt; empty: there is none.
  std::vector<int> control;
  std::string source;  // the text of the prompt that has the answer; empty: unknown
  // Tokens from the first token of the answer back to the first token of the last occurrence of
  // `source`; 0: unknown.
  Index distance = 0;
  Index line = 0;  // of the file, counted from 1; 0: the case is not from a file

  bool operator==(const TaskCase&) const = default;
};

struct TaskReading {
  const Tokenizer* tokenizer = nullptr;  // null: the file must have token ids
  Index vocabulary = 0;                  // ids are below it: ModelSummary::vocabulary
  Index most = 0;  // number of cases wanted, which are spread evenly over the file; 0: all
  std::stop_token stop = {};
};

// Reads a task file of any size and passes on one case after another. A case of text is left out if
// its answer has no tokens of its own: a token covers the end of the prompt, or of the control, and
// the beginning of the answer, or the answer has other tokens behind the control. Returns how many
// of the wanted cases were left out. Neither the file nor the cases are kept in memory. If
// TaskReading::most is not 0, the file is read twice, and only the chosen lines are parsed. Throws
// BadInputError, which names file and line, for a line that is not a case, for token ids that are
// not in the vocabulary or belong to another tokenizer, and for a file without cases or without one
// to pass on; UsageError for a pipe that would be read twice; InterruptedError if a stop is
// requested.
Index read_task_cases(const std::string& path, const TaskReading& reading,
                      const std::function<void(TaskCase)>& take);

// Writes a task file of token ids, with the texts of prompt and answer if these give the same ids
// again. The file appears when it is
// complete. Throws ResourceError if it cannot be written.
class TaskWriter {
 public:
  // The tokenizer must outlive the writer.
  TaskWriter(const std::string& path, const Tokenizer& tokenizer);
  ~TaskWriter();
  void write(const TaskCase& one);
  void commit();

 private:
  const Tokenizer& tokenizer_;
  std::string sha256_;
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace headgauge
