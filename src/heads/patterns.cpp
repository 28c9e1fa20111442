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

// Returns the visibility of each kind of layer.
std::vector<Visibility> visibilities(const SourceInfo& source) {
  if (!source.causal) return {Visibility::full()};
  std::set<Index> windows;
  for (const int layer : source.attention_layers()) {
    windows.insert(layer < std::ssize(source.windows) ? source.windows[layer] : 0);
  }
  std::vector<Visibility> kinds;
  for (const Index window : windows) {
    kinds.push_back(window > 0 ? Visibility::sliding_window(window) : Visibility::causal());
  }
  return kinds;
}

}  // namespace

Index queries_with_all_keys(const Pattern& pattern, const SourceInfo& source, Index length) {
  std::vector<float> signs(length), logits(length);
  for (Index i = 0; i < length; ++i) signs[i] = i % 2 == 0 ? 1.0f : -1.0f;
  Index first = length;
  for (const Visibility& seen : visibilities(source)) {
    HeadInput head;
    head.visibility = seen;
    head.queries = head.keys = {signs.data(), length, 1};
    const auto mask = pattern.mask(head);
    std::vector<std::uint32_t> kept;
    const auto loses = [&](Index query) {
      const KeyRange range = seen.range(query, length);
      mask->select(query, range, std::span(logits).first(range.size()), kept);
      return std::ssize(kept) < range.size();
    };
    Index last = first;  // queries that lose keys end here; the last one loses most
    while (last > 0 && !loses(last - 1)) --last;
    Index whole = 0;  // queries that keep all
    while (whole + 1 < last) {
      const Index middle = (whole + last) / 2;
      (loses(middle - 1) ? last : whole) = middle;
    }
    if (last > 0) first = whole;
  }
  return first;
}

std::unique_ptr<Pattern> make_pattern(std::string_view spec, std::string_view option) {
  return registry().make(registry().parse(spec, option));
}

const std::vector<PatternInfo>& patterns() {
  return registry().infos();
}

Index queries_with_all_keys(const HeadInterventions& heads, const SourceInfo& source,
                            Index length) {
  std::set<const Pattern*> patterns;
  heads.each([&](int, int, const HeadIntervention& here) { patterns.insert(here.pattern.get()); });
  patterns.erase(nullptr);
  Index first = length;
  for (const Pattern* pattern : patterns) {
    first = std::min(first, queries_with_all_keys(*pattern, source, length));
  }
  return first;
}

std::string pattern_in_words(const std::string& spec) {
  const auto has_name = [&](const PatternInfo& one) { return spec.starts_with(one.name + ":"); };
  if (std::ranges::none_of(patterns(), has_name)) return spec;
  std::optional<Pattern::FirstAndLast> kept;
  try {
    kept = make_pattern(spec)->first_and_last();
  } catch (const UsageError&) {  // a name of the caller's own
  }
  if (!kept) return spec;
  return kept->first > 0 ? fmt::format("first {} and last {}", kept->first, kept->last)
                         : fmt::format("last {}", kept->last);
}

void require_dropped_keys(const std::string& spec, std::string_view option,
                          const SourceInfo& source, Index length) {
  if (queries_with_all_keys(*make_pattern(spec, option), source, length) < length) return;
  throw UsageError(fault(std::string(option),
                         fmt::format("a pattern that drops keys at a length of at most {}", length),
                         spec + ", which keeps all",
                         "give longer ScanOptions::lengths, or a smaller pattern"));
}

}  // namespace headgauge
