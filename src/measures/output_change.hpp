// The counterfactual group: how interventions change a head's output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

// The interventions that a comparison tries on heads that are measured without a change.
struct TriedInterventions {
  std::string dimension;  // "normalizer", "pattern", "candidate": the dim of the metrics
  Coordinate labels;      // its entries: the original head, then each intervention
  std::vector<const HeadInterventions*> interventions;  // must outlive the measure
};

// Makes a measure with the dim `dimension`, from the queries, keys and values that the head has
// now. It measures output_change = ||o' - o|| / ||o||, undefined if ||o|| is 0. If the dimension is
// "pattern", it also measures kept_mass, the share of the head's weight on the kept keys,
// queries_losing_keys, the share of its queries that lose keys, and entropy_deficit, log n -
// entropy on these keys, next to its value on as many keys drawn at random. All are undefined for
// heads that an intervention does not change. The source must have values.
std::unique_ptr<Measure> make_output_change(TriedInterventions tried, int slots,
                                            std::uint64_t seed);

// Makes a measure of output_change between heads with and without the scan's change. If that is a
// pattern, it also measures kept_mass and queries_losing_keys; if the source has no values, it
// measures only these.
std::unique_ptr<Measure> make_scan_change(MeasureOptions::Changed changed, int slots);

}  // namespace headgauge
