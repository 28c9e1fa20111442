// The roles of a head: the labels that its shares of weight beyond its sinks give it
// (docs/roles.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "headgauge/cells.hpp"

namespace headgauge {

struct FoundRole {
  std::size_t role = 0;  // of kRoles
  double share = 0;      // of the head's weight beyond its sinks
  double threshold = 0;  // what the share had to reach: chance + kRole (1 - chance)
};

// A metric beyond the sinks at the longest length; nothing of a dormant head, of which too little
// weight lies there.
std::optional<MetricCell> beyond_sinks(const Results& results, std::string_view metric,
                                       const HeadName& head);

// The roles of a head at the longest length: all of previous, duplicate and induction that reach
// their thresholds; where none does, recent or distant. The recent keys hold the previous one, so
// that every head of that role would have both.
std::vector<FoundRole> roles_of(const Results& results, const HeadName& head);

}  // namespace headgauge
