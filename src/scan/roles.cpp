#include "scan/roles.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "measures/roles.hpp"
#include "scan/flag_thresholds.hpp"

namespace headgauge {
namespace {

// Wide kinds of keys, of which others are a part.
bool is_wide(std::string_view label) {
  return label == "recent" || label == "distant";
}

std::optional<FoundRole> judge(const Results& results, const HeadName& head, std::size_t role) {
  const auto share = find_cell_of_head(results, kRoles[role].metric, head);
  const auto chance = find_cell(
      results, "role_chance",
      {{"layer", head.layer_index}, {"head", head.head_index}, {"role", static_cast<Index>(role)}});
  if (!share || !chance || chance->value >= 1) return std::nullopt;
  if (results.require_metric(share->metric).at(share->index).rows < kJudgedRows)
    return std::nullopt;
  const double room = 1 - chance->value;
  const FoundRole found{role, share->value, chance->value + kRole * room,
                        (share->value - chance->value) / room};
  if (found.beyond < kRole) return std::nullopt;
  return found;
}

}  // namespace

std::optional<FoundRole> role_of(const Results& results, const HeadName& head) {
  std::optional<FoundRole> best;
  for (const bool wide : {false, true}) {
    for (std::size_t role = 0; role < kRoles.size(); ++role) {
      if (is_wide(kRoles[role].label) != wide) continue;
      const auto found = judge(results, head, role);
      if (found && (!best || found->beyond > best->beyond)) best = found;
    }
    if (best) break;
  }
  return best;
}

}  // namespace headgauge
