// Fills in what a comparison of smaller caches measures where the request does not say it.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "session/input.hpp"

namespace headgauge {

// Adds the patterns of CompareRequest::windows to those of the options and, if no lengths are
// given, chooses some in which the caches are full. Returns notices. Throws UsageError for a window
// that is no number above 4.
std::vector<std::string> add_windows(Input& input, CompareRequest& request);

// Asks for pass keys if the request has patterns, but no tasks, and the model can be asked; else a
// notice says why not. Returns the cases of all tasks.
Cases cases_to_compare(const Input& input, CompareRequest& request);

// Opens the source; without those cases, and with a notice, if `asked` has no tasks and the model
// predicts no next token.
std::shared_ptr<HeadSource> open_to_compare(Input& input, CompareRequest& request,
                                            const TaskFiles& asked,
                                            std::vector<std::string>& notices);

// Estimates how long a pass of the model over its texts takes, as a share of the scan; nothing if
// the scan is none of all metrics of a causal model as it is.
std::optional<double> pass_over_scan(const Input& input, const ScanRequest& request,
                                     const SourceInfo& source);

// The number of passes that try_caches() needs.
inline constexpr double kTrialPasses = 4;
// Compares three smaller caches with the model as it is; their lengths follow that of the scan.
Results try_caches(HeadSource& source, const ScanOptions& options, RunObserver* observer,
                   std::stop_token stop);
// Adds what they cost to the results of a scan, along the dim `smaller`.
void add_caches(const Results& compared, Results& results);

// Adds what was not measured of smaller caches, and how long that takes.
void say_what_is_open(double pass, const Results& results, std::vector<SummaryLine>& lines);

}  // namespace headgauge
