// Which measures there are: one line each.
#include <algorithm>

#include "headgauge/measure.hpp"
#include "measures/counterfactual.hpp"
#include "measures/dispersion.hpp"
#include "measures/selection_measure.hpp"
#include "measures/sensitivity.hpp"
#include "measures/weights.hpp"

namespace headgauge {

std::vector<std::unique_ptr<Measure>> make_measures(std::span<const std::string> groups,
                                                    const MeasureOptions& options,
                                                    const SourceInfo& source, int slots) {
  for (const std::string& group : groups) {
    if (std::ranges::find(measure_groups(), group) != measure_groups().end()) continue;
    std::string known;
    for (const std::string& name : measure_groups()) known += (known.empty() ? "" : ", ") + name;
    throw UsageError(fault("ScanOptions::measures", "groups among " + known, "\"" + group + "\"",
                           "`headgauge measures` lists them"));
  }
  const auto wanted = [&](const char* group) {
    return groups.empty() || std::ranges::find(groups, group) != groups.end();
  };
  std::vector<std::unique_ptr<Measure>> measures;
  if (wanted("weights")) measures.push_back(make_weights_measure(slots));
  const SelectionGroups selection{wanted("distance"), wanted("separability"), wanted("coverage")};
  if (source.has_x && (selection.distance || selection.separability || selection.coverage)) {
    measures.push_back(make_selection_measure(options, source, selection, slots));
  }
  if (wanted("sensitivity")) measures.push_back(make_sensitivity_measure(options, slots));
  if (wanted("dispersion")) measures.push_back(make_dispersion_measure(source.causal));
  if (wanted("counterfactual") && options.masked) {
    measures.push_back(make_counterfactual_measure(slots));
  }
  return measures;
}

}  // namespace headgauge
