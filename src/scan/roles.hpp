// The roles of a head, determined by the shares of its weight beyond its sinks (docs/roles.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "headgauge/cells.hpp"

namespace headgauge {

struct FoundRole {
  std::size_t role = 0;  // index in kRoles
  double share = 0;      // share of the head's weight beyond its sinks
  double threshold = 0;  // required share: chance + kRole (1 - chance)
};

// Returns a metric beyond the sinks at the longest length; nothing for a dormant head, which has
// too little weight there.
std::optional<MetricCell> beyond_sinks(const Results& results, std::string_view metric,
                                       const HeadName& head);

// Returns the roles of a head at the longest length: all of previous, duplicate and induction that
// reach their thresholds; if none does, recent or distant. The recent keys include the previous
// one, so otherwise every head with that role would have both.
std::vector<FoundRole> roles_of(const Results& results, const HeadName& head);

}  // namespace headgauge
