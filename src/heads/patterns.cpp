#include "headgauge/patterns.hpp"

#include <fmt/format.h>

#include <set>

#include "base/embed.hpp"
#include "heads/pattern_families.hpp"

HEADGAUGE_EMBED(patterns, HEADGAUGE_PATTERNS);

namespace headgauge {
namespace {

using PatternRegistry = Registry<PatternInfo, Pattern>;

constexpr const char* kSinks = "sinks, whose keys keep their positions in the text";
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"streaming", kSinks},    {"attention", kSinks},
    {"sliding", "window"},    {"local", "window"},
    {"longformer", "window"}, {"heavy", "h2o"},
    {"oracle", "topk"},       {"snapkv", "tova or h2o, which evict at every token"},
};

std::vector<PatternInfo> infos() {
  std::vector<PatternInfo> all;
  for (const SpecText& of : read_specs(HEADGAUGE_EMBEDDED(patterns))) {
    all.push_back({of.name, of.formula, of.parameters, of.source, of.by_weight});
  }
  return all;
}

const PatternRegistry& registry() {
  static const PatternRegistry all({"pattern", "list patterns", kOtherNames}, infos(),
                                   {window_patterns(), content_patterns(), eviction_patterns()});
  return all;
}

// Returns whether a query of a head of `length` tokens loses a key; how many are kept
// does not depend on the vectors.
bool drops_keys(const Pattern& pattern, const Visibility& seen, Index length) {
  std::vector<float> signs(length), logits(length);
  for (Index i = 0; i < length; ++i) signs[i] = i % 2 == 0 ? 1.0f : -1.0f;
  HeadInput head;
  head.visibility = seen;
  head.queries = head.keys = {signs.data(), length, 1};
  const auto mask = pattern.mask(head);
  std::vector<std::uint32_t> kept;
  for (Index query = length; query-- > 0;) {  // the last one loses most
    const KeyRange range = seen.range(query, length);
    mask->select(query, range, std::span(logits).first(range.size()), kept);
    if (std::ssize(kept) < range.size()) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<Pattern> make_pattern(std::string_view spec, std::string_view option) {
  return registry().make(registry().parse(spec, option));
}

const std::vector<PatternInfo>& patterns() {
  return registry().infos();
}

void require_dropped_keys(const std::string& spec, std::string_view option,
                          const SourceInfo& source, Index length) {
  const auto pattern = make_pattern(spec, option);
  std::set<Index> windows;
  for (const int layer : source.attention_layers()) {
    windows.insert(layer < std::ssize(source.windows) ? source.windows[layer] : 0);
  }
  for (const Index window : windows) {
    const Visibility seen = !source.causal ? Visibility::full()
                            : window > 0   ? Visibility::sliding_window(window)
                                           : Visibility::causal();
    if (drops_keys(*pattern, seen, length)) return;
  }
  throw UsageError(fault(std::string(option),
                         fmt::format("a pattern that drops keys at a length of at most {}", length),
                         spec + ", which keeps all",
                         "give longer ScanOptions::lengths, or a smaller pattern"));
}

}  // namespace headgauge
