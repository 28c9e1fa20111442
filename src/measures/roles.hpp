// The roles group: what share of its weight a head puts on the keys that heads are named after, of
// all of it and of what lies beyond its sinks, and what even weights would put there
// (docs/mathematics.md 7g, docs/roles.md).
#pragma once

#include <array>
#include <memory>

#include "headgauge/measure.hpp"

namespace headgauge {

inline constexpr Index kRecentKeys = 64;  // a recent key is less than that many tokens away

// A kind of keys: its label along the dim "role", and the metric of the share on it.
struct Role {
  const char* label;
  const char* metric;
};
inline constexpr std::array<Role, 5> kRoles = {{
    {"previous", "weight_previous"},
    {"recent", "weight_recent"},
    {"distant", "weight_distant"},
    {"duplicate", "weight_duplicate"},
    {"induction", "weight_induction"},
}};

std::unique_ptr<Measure> make_roles_measure();

}  // namespace headgauge
