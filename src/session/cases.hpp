// The cases of task files and probes as documents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headgauge/session.hpp"

namespace headgauge {

struct Cases {
  std::vector<Document> documents = {};  // the cases, then their controls
  std::vector<std::string> notices = {};

  // Throws UnsupportedError if there are cases, and the model predicts no next token.
  void require_loss(const SourceInfo& source) const;
};

// Reads the cases of the files and generates those of the probes, as long as the run's longest
// context. A case longer than the model's context, or without tokens of its own for the answer
// (read_task_cases()), is left out, and a notice says how many were.
// Throws as read_task_cases() and make_task_cases() do; UnsupportedError for a dump, and for a
// probe of a model without a tokenizer; BadInputError if no case fits.
Cases load_cases(const Input& input, const TaskFiles& tasks, std::uint64_t seed);

// Generates small cases of a task at a quarter, half and all of `longest` tokens; none if the model
// has no tokenizer, sees fewer than kShortestOwn tokens, or has a vocabulary without the words.
Cases own_cases(const Input& input, Index longest, std::uint64_t seed);

// Appends the cases to the documents, which are texts.
void append_cases(const Cases& cases, std::vector<Document>& documents);

}  // namespace headgauge
