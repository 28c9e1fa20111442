// Makes the measures of the groups.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "headgauge/measure.hpp"
#include "headgauge/text.hpp"
#include "measures/dispersion.hpp"
#include "measures/gram.hpp"
#include "measures/logits.hpp"
#include "measures/output_change.hpp"
#include "measures/roles.hpp"
#include "measures/selection_measure.hpp"
#include "measures/sensitivity.hpp"
#include "measures/weights.hpp"

namespace headgauge {

namespace {

class DeclaredMetrics final : public MetricRegistry {
 public:
  void coord(std::string_view, Coordinate) override {}
  MetricHandle add(const MetricInfo& metric) override {
    list.push_back(metric);
    return {};
  }
  std::vector<MetricInfo> list;
};

}  // namespace

std::vector<MetricInfo> declared_metrics(std::span<const std::unique_ptr<Measure>> measures) {
  DeclaredMetrics declared;
  for (const auto& measure : measures) measure->declare(declared);
  return declared.list;
}

bool has_predictions(const MeasureOptions& options, const SourceInfo& source) {
  using enum MeasureOptions::Changed;
  return source.has_loss && options.changed != pattern &&
         source.runs_normalizer.value_or(options.changed == nothing);
}

bool can_measure(const MetricGroup& group, const MeasureOptions& options,
                 const SourceInfo& source) {
  using enum MetricGroup::Needs;
  switch (group.needs) {
    case nothing:
      return true;
    case x:
      return source.has_x;
    case shares:
      return source.has_x && !options.top_share.empty();
    case loss:
      return has_predictions(options, source);
    case intervention:
      // If only the normalizer changes, the group measures only output_change, which needs values.
      return options.changed == MeasureOptions::Changed::pattern ||
             (options.changed == MeasureOptions::Changed::normalizer && source.has_values);
    case answers:
      return has_predictions(options, source) && !source.answers.empty();
  }
  return false;
}

std::vector<std::unique_ptr<Measure>> make_measures(std::span<const std::string> groups,
                                                    const MeasureOptions& options,
                                                    const SourceInfo& source, int slots) {
  for (const std::string& group : groups) {
    if (std::ranges::find(measure_groups(), group) != measure_groups().end()) continue;
    throw UsageError(fault("ScanOptions::measures",
                           fmt::format("groups among {}", fmt::join(measure_groups(), ", ")),
                           in_quotes(group) + did_you_mean(group, measure_groups()),
                           "`headgauge list measures` lists them"));
  }
  const auto wanted = [&](std::string_view name) {
    const auto group = std::ranges::find(metric_groups(), name, &MetricGroup::name);
    return (groups.empty() || std::ranges::find(groups, name) != groups.end()) &&
           can_measure(*group, options, source);
  };
  std::vector<std::unique_ptr<Measure>> measures;
  if (wanted("weights")) measures.push_back(make_weights_measure(slots));
  const SelectionGroups selection{wanted("distance"), wanted("separability"), wanted("coverage")};
  const auto shared = std::make_shared<SharedGram>();
  const auto add = [&](const SelectionGroups& of) {
    measures.push_back(make_selection_measure(options, source, of, slots, kGramLimit, shared));
  };
  if (selection.distance || selection.separability || selection.coverage) add(selection);
  for (const auto keys : {MeasureNeeds::Keys::beyond_sinks, MeasureNeeds::Keys::distinct}) {
    if (!selection.separability) continue;
    add({.distance = false, .coverage = false, .keys = keys});
  }
  if (wanted("proportion")) {
    add({.coverage = false, .proportion = true});
  }
  if (wanted("sensitivity")) measures.push_back(make_sensitivity_measure(options, slots));
  if (wanted("dispersion")) {
    measures.push_back(make_dispersion_measure(source.causal, options.beyond_sinks));
  }
  if (wanted("counterfactual")) measures.push_back(make_scan_change(options.changed, slots));
  if (wanted("roles")) measures.push_back(make_roles_measure(source));
  if (wanted("logits")) measures.push_back(make_logits_measure(slots));
  return measures;
}

}  // namespace headgauge
