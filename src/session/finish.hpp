// How every run of a session begins and ends.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "session/input.hpp"
#include "session/running.hpp"

namespace headgauge {

// The model and the texts of a source. Throws BadInputError where its files have changed.
Results described(const HeadSource& source);

// The options with the defaults that the source fills in, and lists that are sets in order, so that
// two ways to write one run are one run.
ScanOptions resolved(const ScanOptions& options, const SourceInfo& source);
void sort_lists(ScanOptions& options);

// Adds to the results what they say beside the numbers, and saves them: the texts, the settings of
// the request's own options, sentences by `summarize`.
struct Ending {
  const Input& input;
  std::vector<Option> options;  // of the request; those whose member begins with `own` are written
  std::string_view own;
  std::function<std::vector<SummaryLine>(const Results&)> summarize = headgauge::summarize;
};
void complete(Results& results, const Ending& ending);

}  // namespace headgauge
