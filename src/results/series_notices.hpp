// Says what the runs of a series do not share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "headgauge/results.hpp"
#include "results/diff_notices.hpp"

namespace headgauge {

// Returns the settings of each run that differ between the runs.
std::vector<nlohmann::ordered_json> differing_settings(const std::vector<NamedRun>& runs);

// Returns what a reader of the series must know: what differs between the runs, which of them are
// incomplete, what was left out, and their own notices. `undefined`: heads without a change, by
// metric. `joined` has the curves and the changes.
std::vector<std::string> series_notices(const std::vector<NamedRun>& runs,
                                        const std::map<std::string, std::int64_t>& undefined,
                                        const Results& joined);

// Names the metrics of which no change has an error; empty if there are none.
std::string untested_notice(const Results& joined);

}  // namespace headgauge
