#include "scan/roles.hpp"

#include <string>

#include "headgauge/catalogue.hpp"
#include "headgauge/metric_names.hpp"
#include "measures/roles.hpp"
#include "scan/flag_thresholds.hpp"

namespace headgauge {
namespace {

// Returns true for wide kinds of keys, which include others.
bool is_wide(std::string_view label) {
  return label == "recent" || label == "distant";
}

std::optional<FoundRole> judge(const Results& results, const HeadName& head, std::size_t role) {
  const auto share = beyond_sinks(results, kRoles[role].metric, head);
  const auto chance = find_cell(
      results, metric::role_chance,
      {{"layer", head.layer_index}, {"head", head.head_index}, {"role", static_cast<Index>(role)}});
  if (!share || !chance || chance->value >= 1) return std::nullopt;
  if (results.require_metric(share->metric).at(share->index).rows < kJudgedRows)
    return std::nullopt;
  const double threshold = chance->value + kRole * (1 - chance->value);
  if (share->value < threshold) return std::nullopt;
  return FoundRole{role, share->value, threshold};
}

}  // namespace

std::optional<MetricCell> beyond_sinks(const Results& results, std::string_view metric,
                                       const HeadName& head) {
  const auto resting = find_cell_of_head(results, metric::sink_weight, head);
  if (resting && resting->value > kDormant) return std::nullopt;
  const MetricInfo& beyond = metric_info(std::string(metric) + "_beyond_sinks");
  return find_cell_of_head(results, beyond.name, head);
}

std::vector<FoundRole> roles_of(const Results& results, const HeadName& head) {
  std::vector<FoundRole> found;
  for (const bool wide : {false, true}) {
    for (std::size_t role = 0; role < kRoles.size(); ++role) {
      if (is_wide(kRoles[role].label) != wide) continue;
      if (const auto one = judge(results, head, role)) found.push_back(*one);
    }
    if (!found.empty()) break;
  }
  return found;
}

}  // namespace headgauge
