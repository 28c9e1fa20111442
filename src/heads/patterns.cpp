#include "headgauge/patterns.hpp"

#include "heads/pattern_families.hpp"

namespace headgauge {
namespace {

using PatternRegistry = Registry<PatternInfo, Pattern>;

const PatternRegistry& registry() {
  static const PatternRegistry all(
      {"pattern", "list patterns"},
      {window_patterns(), strided_patterns(), content_patterns(), eviction_patterns()});
  return all;
}

}  // namespace

std::unique_ptr<Pattern> make_pattern(std::string_view spec, std::string_view option) {
  return registry().make(registry().parse(spec, option));
}

const std::vector<PatternInfo>& patterns() {
  return registry().infos();
}

}  // namespace headgauge
