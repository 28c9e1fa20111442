#include "results/renamed.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {
namespace {

// Metrics of a reproduction have a prefix, changes and metrics by position a suffix.
bool is_about(const std::string& name, std::string_view metric) {
  return name.find(metric) != std::string::npos;
}

bool has_metric_about(const Results& results, std::string_view metric) {
  return std::ranges::any_of(results.metrics,
                             [&](const auto& m) { return is_about(m.first, metric); });
}

// Replaces a name within every name of a metric.
void rename(std::string_view older, std::string_view newer, Results& results) {
  const auto in = [&](std::string& name) {
    const std::size_t at = name.find(older);
    if (at != std::string::npos) name.replace(at, older.size(), newer);
  };
  for (auto& [name, metric] : results.metrics) {
    in(name);
    in(metric.change_of);
  }
  for (SummaryLine& line : results.summary) {
    for (Fact& fact : line.facts) in(fact.source.name);
  }
  for (Claim& claim : results.claims) {
    for (Claim::Fact& fact : claim.facts) in(fact.name);
  }
  if (!results.changes) return;
  for (auto* list : {&results.changes->measured, &results.changes->unmeasured}) {
    for (Change& change : *list) in(change.metric);
  }
}

// Leaves metrics out, and what refers to them; a sentence keeps its number, without a source.
void leave_out(const std::vector<std::string_view>& metrics, Results& results) {
  const auto gone = [&](const std::string& name) {
    return std::ranges::any_of(metrics, [&](std::string_view m) { return is_about(name, m); });
  };
  std::erase_if(results.metrics, [&](const auto& metric) { return gone(metric.first); });
  for (SummaryLine& line : results.summary) {
    for (Fact& fact : line.facts) {
      if (gone(fact.source.name)) fact.source = {FactSource::Kind::derived};
    }
  }
  if (!results.changes) return;
  for (auto* list : {&results.changes->measured, &results.changes->unmeasured}) {
    std::erase_if(*list, [&](const Change& change) { return gone(change.metric); });
  }
}

}  // namespace

void rename_older_metrics(Results& results) {
  if (!has_metric_about(results, "separability_sphere") &&
      !has_metric_about(results, "separability_excess")) {
    rename("separability_null", "separability_sphere", results);
  }
  // Once, also where a file of the results so read is read again.
  if (has_metric_about(results, "critical_ks_p") && has_metric_about(results, "critical_n") &&
      !has_metric_about(results, "critical_n_paper") && !has_metric_about(results, "closest_n")) {
    leave_out({"critical_n_head", "critical_fraction"}, results);
    rename("critical_n", "critical_n_paper", results);
    results.notices.push_back(
        "critical_n is read as critical_n_paper, and critical_n_head and the fractions of both are "
        "left out: the file is older than the paired tests of critical N");
  }
}

}  // namespace headgauge
