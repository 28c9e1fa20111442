// What each intervention would make of a head's output, from the queries, keys and values that the
// head has now.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

// output_change = ||o' - o|| / ||o|| (undefined where ||o|| is 0) with dims layer, head, length,
// `dimension`: entry 0 is the head as it is, entry k + 1 is interventions[k], undefined for heads
// that it does not change. Where `dimension` is "pattern", also kept_mass, the share of the head's
// weight that lies on the keys that are left, and entropy_deficit, log n - entropy on these keys,
// beside that on as many keys drawn at random. `source` must have values; `interventions` must
// outlive the measure.
std::unique_ptr<Measure> make_output_change(std::vector<const HeadInterventions*> interventions,
                                            const std::string& dimension, const SourceInfo& source,
                                            int slots, std::uint64_t seed);

}  // namespace headgauge
