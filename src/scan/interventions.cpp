#include <fmt/format.h>

#include <algorithm>

#include "headgauge/compare.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "scan/scan_plan.hpp"

namespace headgauge {
namespace {

// Splits each list into its specs, of normalizers or of patterns.
std::vector<std::string> split_specs(const std::vector<std::string>& lists) {
  std::vector<std::string> specs;
  for (const std::string& list : lists) {
    std::string_view rest = list;
    bool first = true;  // another list begins another spec
    while (true) {
      const std::size_t comma = rest.find(',');
      const std::string_view part = rest.substr(0, comma);
      const std::size_t equals = part.find('='), colon = part.find(':');
      if (!first && equals != std::string_view::npos && equals < colon) {
        specs.back().append(1, ',').append(part);
      } else {
        specs.emplace_back(part);
      }
      first = false;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return specs;
}

}  // namespace

std::vector<Intervention> make_interventions(const CompareOptions& options,
                                             const SourceInfo& source) {
  const bool patterns = !options.patterns.empty();
  if (patterns && !options.normalizers.empty()) {
    throw UsageError(fault("CompareOptions::patterns", "patterns or normalizers", "both",
                           "leave one of the two out"));
  }
  const HeadSelection selection(options.scan.layers, options.scan.heads, source.layers,
                                source.heads);
  std::vector<Intervention> interventions;
  for (const std::string& spec : split_specs(patterns ? options.patterns : options.normalizers)) {
    if (std::ranges::find(interventions, spec, &Intervention::label) != interventions.end()) {
      throw UsageError(fault(patterns ? "CompareOptions::patterns" : "CompareOptions::normalizers",
                             "every one once", fmt::format("\"{}\" twice", spec),
                             "remove one of them"));
    }
    HeadIntervention of_head;
    if (patterns) {
      of_head.pattern = make_pattern(spec);
    } else {
      of_head.normalizer = make_normalizer(spec, source);
    }
    Intervention intervention{.label = spec, .heads = {source.layers, source.heads}};
    intervention.heads.each([&](int layer, int head, HeadIntervention& here) {
      if (selection.contains(layer, head)) here = of_head;
    });
    interventions.push_back(std::move(intervention));
  }
  return interventions;
}

}  // namespace headgauge
