// What interventions make of a head's output: the counterfactual group.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

// The interventions that a comparison tries on heads that are measured as they are.
struct TriedInterventions {
  std::string dimension;  // "normalizer", "pattern", "candidate": the dim of the metrics
  Coordinate labels;      // its entries: the head as it is, then each intervention
  std::vector<const HeadInterventions*> interventions;  // must outlive the measure
};

// Measures from the queries, keys and values that the head has now, with the dim `dimension`:
// output_change = ||o' - o|| / ||o||, undefined where ||o|| is 0, and, where the dimension is
// "pattern", kept_mass, the share of the head's weight that lies on the keys that are left, and
// entropy_deficit, log n - entropy on these keys, beside that on as many keys drawn at random. All
// are undefined for heads that an intervention does not change. The source must have values.
std::unique_ptr<Measure> make_output_change(TriedInterventions tried, int slots,
                                            std::uint64_t seed);

// Measures output_change of heads that are measured under what the scan changes, against the same
// heads without it, and under a pattern kept_mass; without values kept_mass alone.
std::unique_ptr<Measure> make_scan_change(MeasureOptions::Changed changed, int slots);

}  // namespace headgauge
