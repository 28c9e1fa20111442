// The beginning and the end that all runs of a session share.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "session/input.hpp"
#include "session/running.hpp"

namespace headgauge {

// Returns results with the model and the texts of a source. Throws BadInputError if its files have
// changed.
Results described(const HeadSource& source);

// Returns the options with the source's defaults filled in and set-like lists sorted, so that two
// spellings of one run have the same identity.
ScanOptions resolved(const ScanOptions& options, const SourceInfo& source);
void sort_lists(ScanOptions& options);

// Completes the results and saves them: adds the texts, the settings (the request's own options),
// and the sentences of `summarize`.
struct Ending {
  const Input& input;
  std::vector<Option> options;  // of the request; those whose member begins with `own` are recorded
  std::string_view own;
  std::function<std::vector<SummaryLine>(const Results&)> summarize = headgauge::summarize;
};
void complete(Results& results, const Ending& ending);

}  // namespace headgauge
