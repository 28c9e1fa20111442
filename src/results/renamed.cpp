#include "results/renamed.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace headgauge {
namespace {

constexpr std::string_view kOlder = "separability_null", kNewer = "separability_sphere";
constexpr std::string_view kSince = "separability_excess";  // came with the newer name

// Metrics of a reproduction have a prefix, changes and metrics by position a suffix.
void rename(std::string& name) {
  const std::size_t at = name.find(kOlder);
  if (at != std::string::npos) name.replace(at, kOlder.size(), kNewer);
}

}  // namespace

void rename_older_null(Results& results) {
  const bool newer = std::ranges::any_of(results.metrics, [](const auto& metric) {
    return metric.first.find(kNewer) != std::string::npos ||
           metric.first.find(kSince) != std::string::npos;
  });
  if (newer) return;
  for (auto& [name, metric] : results.metrics) {
    rename(name);
    rename(metric.change_of);
  }
  for (SummaryLine& line : results.summary) {
    for (Fact& fact : line.facts) rename(fact.source.name);
  }
  for (Claim& claim : results.claims) {
    for (Claim::Fact& fact : claim.facts) rename(fact.name);
  }
  if (!results.changes) return;
  for (auto* list : {&results.changes->measured, &results.changes->unmeasured}) {
    for (Change& change : *list) rename(change.metric);
  }
}

}  // namespace headgauge
