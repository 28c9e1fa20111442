// Says what the runs of a series do not share.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// A run of a series and the file it comes from.
struct SeriesRun {
  const Results* results;
  std::string name;
};

// Returns the settings of each run that differ between the runs.
std::vector<nlohmann::ordered_json> differing_settings(const std::vector<SeriesRun>& runs);

// Returns what a reader of the series must know: what differs between the runs, which of them are
// incomplete, what was left out, and their own notices. `joined` has the curves and the changes.
std::vector<std::string> series_notices(const std::vector<SeriesRun>& runs, const Results& joined);

// Names the metrics of which no change has an error; empty if there are none.
std::string untested_notice(const Results& joined);

}  // namespace headgauge
