// The roles group: the share of a head's weight on the kinds of keys that head roles are named
// after. It is measured for all weight and for the weight beyond the sinks, and compared with the
// share under uniform weights (docs/mathematics.md 7g, docs/roles.md).
#pragma once

#include <array>
#include <memory>

#include "headgauge/measure.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge {

inline constexpr Index kNearKeys = 64;  // a near key is less than this many tokens away

// A kind of keys: its name, which is the label along the dim "role" and the name of the flag, and
// the metrics of the share on it.
struct Role {
  const char* name;
  const char* metric;
  const char* with_sinks;
};
inline constexpr std::array<Role, 5> kRoles = {{
    {"previous", metric::weight_previous, metric::weight_previous_with_sinks},
    {"near", metric::weight_near, metric::weight_near_with_sinks},
    {"far", metric::weight_far, metric::weight_far_with_sinks},
    {"copies", metric::weight_copies, metric::weight_copies_with_sinks},
    {"induction", metric::weight_induction, metric::weight_induction_with_sinks},
}};

// On a case of a task, only the rows that predict its answer count.
std::unique_ptr<Measure> make_roles_measure(const SourceInfo& source);

}  // namespace headgauge
