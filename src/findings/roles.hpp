// The roles of a head, determined by the shares of its weight beyond its sinks (docs/roles.md).
#pragma once

#include <string_view>
#include <vector>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"

namespace headgauge {

struct FoundRole {
  const FlagInfo* flag = nullptr;
  double share = 0;      // share of the head's weight beyond its sinks
  double threshold = 0;  // required share: chance + cutoff (1 - chance)
};

// Returns whether so much of the head's weight rests on sinks that the rest is not judged.
bool is_dormant(const Results& results, const HeadName& head);

// Returns the roles of a head at the longest length: all of previous, copies and induction that
// reach their thresholds; if none does, near or far. The near keys include the previous one, so
// otherwise every head with that role would have both.
std::vector<FoundRole> roles_of(const Results& results, const HeadName& head);

}  // namespace headgauge
