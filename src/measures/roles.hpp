// The roles group: the share of a head's weight on the kinds of keys that head roles are named
// after. It is measured for all weight and for the weight beyond the sinks, and compared with the
// share under uniform weights (docs/mathematics.md 7g, docs/roles.md).
#pragma once

#include <array>
#include <memory>

#include "headgauge/measure.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge {

inline constexpr Index kRecentKeys = 64;  // a recent key is less than this many tokens away

// A kind of keys: its label along the dim "role", and the metric of the share on it.
struct Role {
  const char* label;
  const char* metric;
};
inline constexpr std::array<Role, 5> kRoles = {{
    {"previous", metric::weight_previous_with_sinks},
    {"recent", metric::weight_near_with_sinks},
    {"distant", metric::weight_far_with_sinks},
    {"duplicate", metric::weight_copies_with_sinks},
    {"induction", metric::weight_induction_with_sinks},
}};

// On a case of a task, only the rows that predict its answer count.
std::unique_ptr<Measure> make_roles_measure(const SourceInfo& source);

}  // namespace headgauge
