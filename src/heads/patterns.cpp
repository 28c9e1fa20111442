// Which patterns there are.
#include "headgauge/patterns.hpp"

#include "heads/pattern_rules.hpp"

namespace headgauge {
namespace {

const std::vector<PatternRule>& rules() {
  static const std::vector<PatternRule> all = [] {
    std::vector<PatternRule> rules;
    for (const auto& family : {window_patterns(), strided_patterns(), content_patterns()}) {
      rules.insert(rules.end(), family.begin(), family.end());
    }
    return rules;
  }();
  return all;
}

}  // namespace

std::unique_ptr<Pattern> make_pattern(std::string_view spec) {
  std::vector<std::string> known;
  for (const PatternRule& rule : rules()) known.push_back(rule.info.name);
  RuleParameters parameters = parse_rule({"ScanOptions::pattern", "pattern", "patterns"}, spec, known);
  const auto rule = std::ranges::find(rules(), parameters.rule(),
                                      [](const PatternRule& r) { return r.info.name; });
  auto made = rule->make(rule->info, parameters);
  parameters.finish(rule->info.parameters);
  return made;
}

const std::vector<PatternInfo>& patterns() {
  static const std::vector<PatternInfo> all = [] {
    std::vector<PatternInfo> infos;
    for (const PatternRule& rule : rules()) infos.push_back(rule.info);
    return infos;
  }();
  return all;
}

}  // namespace headgauge
