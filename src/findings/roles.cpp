#include "findings/roles.hpp"

#include <optional>
#include <string>

#include "headgauge/flags.hpp"
#include "headgauge/metric_names.hpp"
#include "measures/roles.hpp"

namespace headgauge {
namespace {

// Returns true for wide kinds of keys, which include others.
bool is_wide(std::string_view name) {
  return name == "near" || name == "far";
}

std::optional<FoundRole> judge_role(const Results& results, const HeadName& head, Index role) {
  const FlagInfo& flag = flag_info(kRoles[role].name);
  const auto share = find_cell_of_head(results, flag.metric, head);
  const auto chance =
      find_cell(results, metric::role_chance,
                {{"layer", head.layer_index}, {"head", head.head_index}, {"role", role}});
  if (!share || !chance || chance->value >= 1) return std::nullopt;
  if (results.require_metric(share->metric).at(share->index).rows < kJudgedRows)
    return std::nullopt;
  const double threshold = chance->value + flag.cutoff * (1 - chance->value);
  if (share->value < threshold) return std::nullopt;
  return FoundRole{&flag, share->value, threshold};
}

}  // namespace

bool is_dormant(const Results& results, const HeadName& head) {
  const auto resting = find_cell_of_head(results, metric::sink_weight, head);
  return resting && resting->value > flag_info("dormant").cutoff;
}

std::vector<FoundRole> roles_of(const Results& results, const HeadName& head) {
  std::vector<FoundRole> found;
  if (results.metric(metric::role_chance) == nullptr || is_dormant(results, head)) return found;
  for (const bool wide : {false, true}) {
    for (Index role = 0; role < std::ssize(kRoles); ++role) {
      if (is_wide(kRoles[role].name) != wide) continue;
      if (const auto one = judge_role(results, head, role)) found.push_back(*one);
    }
    if (!found.empty()) break;
  }
  return found;
}

}  // namespace headgauge
