#include <fmt/format.h>

#include <algorithm>

#include "headgauge/compare.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "scan/run.hpp"

namespace headgauge {

std::vector<std::string> split_rules(std::span<const std::string> lists) {
  std::vector<std::string> rules;
  for (const std::string& list : lists) {
    std::string_view rest = list;
    bool first = true;  // another --normalizers begins another rule
    while (true) {
      const std::size_t comma = rest.find(',');
      const std::string_view part = rest.substr(0, comma);
      const std::size_t equals = part.find('='), colon = part.find(':');
      if (!first && equals != std::string_view::npos && equals < colon) {
        rules.back().append(1, ',').append(part);
      } else {
        rules.emplace_back(part);
      }
      first = false;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return rules;
}

std::unique_ptr<Normalizer> make_rule(const std::string& spec, const SourceInfo& source) {
  auto rule = make_normalizer(spec);
  if (source.causal || !rule->traits().by_position) return rule;
  throw UsageError(fault(spec, "a causal model, for this rule goes by the position of the query",
                         source.name + ", whose queries see the whole text",
                         "logn-entropy is the like by the number of keys"));
}

std::vector<Intervention> make_interventions(std::span<const std::string> specs,
                                             const SourceInfo& source,
                                             const CompareOptions& options) {
  const HeadSelection selection(options.scan.layers, options.scan.heads, source.layers,
                                source.heads);
  std::vector<Intervention> interventions;
  for (const std::string& spec : specs) {
    if (std::ranges::find(interventions, spec, &Intervention::label) != interventions.end()) {
      throw UsageError(fault(options.dimension == "pattern" ? "--pattern" : "--normalizers",
                             "every one once", fmt::format("\"{}\" twice", spec),
                             "remove one of them"));
    }
    HeadIntervention of_head;
    if (options.dimension == "pattern") {
      of_head.pattern = make_pattern(spec);
    } else {
      of_head.rule = make_rule(spec, source);
    }
    Intervention intervention;
    intervention.label = spec;
    for (int layer = 0; layer < source.layers; ++layer) {
      for (int head = 0; head < source.heads; ++head) {
        intervention.heads.push_back(selection.contains(layer, head) ? of_head
                                                                     : HeadIntervention{});
      }
    }
    interventions.push_back(std::move(intervention));
  }
  return interventions;
}

}  // namespace headgauge
