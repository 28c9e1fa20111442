#include "headgauge/patterns.hpp"

#include "heads/pattern_families.hpp"

namespace headgauge {
namespace {

using PatternRegistry = Registry<PatternInfo, Pattern>;

constexpr const char* kSinks = "sinks, whose keys keep their positions in the text";
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"streaming", kSinks},    {"attention", kSinks},
    {"sliding", "window"},    {"local", "window"},
    {"longformer", "window"}, {"sparse", "strided or fixed"},
    {"reformer", "lsh"},      {"heavy", "h2o"},
    {"oracle", "topk"},       {"snapkv", "tova or h2o, which evict at every token"},
};

const PatternRegistry& registry() {
  static const PatternRegistry all(
      {"pattern", "list patterns", kOtherNames},
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
