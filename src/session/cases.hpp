// The cases of task files as documents.
#pragma once

#include <stop_token>
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

// Reads the cases of the files. A case longer than the model's context is left out, and a notice
// says how many were. Throws as read_task_cases() does; UnsupportedError for
// a dump; BadInputError if no case fits.
Cases load_cases(const Model& model, const TaskFiles& tasks, const std::stop_token& stop);

// Appends the cases to the documents, which are texts.
void append_cases(const Cases& cases, std::vector<Document>& documents);

}  // namespace headgauge
