#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headgauge/compare.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "scan/resolved_scan.hpp"

namespace headgauge {
namespace {

constexpr const char* kNormalizers = "CompareOptions::normalizers";
constexpr const char* kPatterns = "CompareOptions::patterns";

// The change of a head, and its name in the results.
using Named = std::pair<std::string, HeadIntervention>;

// Returns the named ones, then the caller's own.
std::vector<Named> normalizers_of(const CompareOptions& options, const SourceInfo& source) {
  std::vector<Named> all;
  for (const std::string& spec : options.normalizers) {
    all.emplace_back(spec, HeadIntervention{make_normalizer(spec, kNormalizers), {}});
  }
  for (const auto& own : options.own_normalizers) {
    all.emplace_back(own->info().name, HeadIntervention{own, {}});
  }
  for (const auto& [label, of_head] : all) require_causal(*of_head.normalizer, label, source);
  return all;
}

std::vector<Named> patterns_of(const CompareOptions& options) {
  std::vector<Named> all;
  for (const std::string& spec : options.patterns) {
    all.emplace_back(spec, HeadIntervention{{}, make_pattern(spec, kPatterns)});
  }
  for (const auto& own : options.own_patterns) {
    all.emplace_back(own->info().name, HeadIntervention{{}, own});
  }
  return all;
}

}  // namespace

std::vector<Intervention> make_interventions(const CompareOptions& options,
                                             const SourceInfo& source) {
  const bool patterns = !options.patterns.empty() || !options.own_patterns.empty();
  if (patterns && !(options.normalizers.empty() && options.own_normalizers.empty())) {
    throw UsageError(
        fault(kPatterns, "patterns or normalizers", "both", "leave one of the two out"));
  }
  const HeadSelection selection(options.scan.layers, options.scan.heads, source.layers,
                                source.heads, "ScanOptions", source.without_attention);
  std::vector<Intervention> interventions;
  for (const auto& [label, of_head] :
       patterns ? patterns_of(options) : normalizers_of(options, source)) {
    if (std::ranges::find(interventions, label, &Intervention::label) != interventions.end()) {
      throw UsageError(fault(patterns ? kPatterns : kNormalizers, "every one once",
                             fmt::format("\"{}\" twice", label), "remove one of them"));
    }
    Intervention intervention;
    intervention.label = label;
    intervention.heads = {source.layers, source.heads};
    intervention.heads.each([&, &changed = of_head](int layer, int head, HeadIntervention& here) {
      if (selection.contains(layer, head)) here = changed;
    });
    interventions.push_back(std::move(intervention));
  }
  return interventions;
}

Intervention make_intervention(const AttentionPlan& plan, const CompareOptions& options,
                               const HeadSource& source, const std::string& label) {
  const SourceInfo& info = source.info();
  const HeadSelection selection(options.scan.layers, options.scan.heads, info.layers, info.heads,
                                "ScanOptions", info.without_attention);
  Intervention intervention;
  intervention.label = label;
  intervention.of_plan = true;
  intervention.heads = make_interventions(plan, source, label);
  bool any = false, some = false;  // `any`: the plan changes a head; `some`: a selected one
  intervention.heads.each([&](int layer, int head, HeadIntervention& here) {
    any = any || here.changes();
    if (!selection.contains(layer, head)) here = {};
    some = some || here.changes();
  });
  if (any && !some) {
    throw UsageError(fault(label, "a plan that changes some of the heads that are chosen",
                           "a plan that changes none of them", "choose others"));
  }
  return intervention;
}

}  // namespace headgauge
