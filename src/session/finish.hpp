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

// Records the options that `owner` ("ScanRequest::") declares itself.
void write_own_settings(const std::vector<Option>& options, std::string_view owner,
                        nlohmann::ordered_json& settings);

// Completes the results: adds the texts, the settings that the request itself declares, and the
// sentences of `summarize`, with options called as they are typed.
struct Ending {
  const Input& input;
  std::vector<Option> options;
  std::string_view owner;  // as write_own_settings() takes it
  std::function<std::vector<SummaryLine>(const Results&)> summarize = headgauge::summarize;
};
void complete(Results& results, const Ending& ending);

}  // namespace headgauge
