#include <algorithm>

#include "headgauge/compare.hpp"
#include "headgauge/normalize.hpp"

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
        rules.back() += "," + std::string(part);
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

std::vector<Rival> make_rivals(std::span<const std::string> normalizers, const SourceInfo& source,
                               const CompareOptions& options) {
  const HeadSelection selection(options.scan.layers, options.scan.heads, source.layers,
                                source.heads);
  std::vector<Rival> rivals;
  for (const std::string& spec : normalizers) {
    if (std::ranges::find(rivals, spec, &Rival::label) != rivals.end()) {
      throw UsageError(fault("--normalizers", "every rule once", "\"" + spec + "\" twice",
                             "remove one of them"));
    }
    Rival rival;
    rival.label = spec;
    const std::shared_ptr<const Normalizer> rule = make_normalizer(spec);
    for (int layer = 0; layer < source.layers; ++layer) {
      for (int head = 0; head < source.heads; ++head) {
        Exchange exchange;
        if (selection.contains(layer, head)) exchange.rule = rule;
        rival.exchanges.push_back(std::move(exchange));
      }
    }
    rivals.push_back(std::move(rival));
  }
  return rivals;
}

}  // namespace headgauge
