// The role of a head: the one label, if any, that its shares of weight give it (docs/roles.md).
#pragma once

#include <cstddef>
#include <optional>

#include "headgauge/cells.hpp"

namespace headgauge {

struct FoundRole {
  std::size_t role = 0;  // of kRoles
  double share = 0;      // of the head's weight
  double threshold = 0;  // what the share had to reach: chance + kRole (1 - chance)
  double beyond = 0;     // (share - chance) / (1 - chance)
};

// The role of a head at the longest length. Of previous, duplicate, induction and sinks the one
// furthest beyond chance; where none of these reaches kRole, recent or distant. The recent keys
// hold the previous one, so that they would win over it everywhere.
std::optional<FoundRole> role_of(const Results& results, const HeadName& head);

}  // namespace headgauge
