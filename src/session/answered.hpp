// Which tasks the unchanged model does, and their cases in groups.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "session/input.hpp"

namespace headgauge {

struct CaseGroup {
  std::string name;
  std::vector<Document> cases = {};  // without controls
};

// Runs the cases and their controls through the unchanged model; returns the metrics of answers and
// the coordinates task and length. `lengths`: those of a scan. Throws UnsupportedError for a model
// that predicts no next token.
Results answer_cases(const Input& input, const Cases& cases, const ScanOptions& options,
                     Progress* progress, const std::stop_token& stop);

// Returns a group for each task that the model is shown to do. Throws BadInputError if it does
// none.
std::vector<CaseGroup> done_tasks(const Cases& cases, const Results& answered);

// Divides the cases of a group into the odd and the even ones.
std::vector<CaseGroup> halves_of(const CaseGroup& group);

// Throws BadInputError if a group has fewer than 2 cases, which give no error of a mean.
void require_several(const std::vector<CaseGroup>& groups);

}  // namespace headgauge
