#include <fmt/format.h>

#include <algorithm>

#include "headgauge/array.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/patterns.hpp"
#include "heads/masked_row.hpp"

namespace headgauge {

void HeadIntervention::apply(HeadInput& head) const {
  if (changes() && !head.own) head.own = OwnAttention{head.normalizer, head.visibility};
  if (normalizer != nullptr) head.normalizer = normalizer.get();
  if (pattern == nullptr) return;
  require_all_keys(head, pattern->info().name);
  head.visibility = head.visibility.masked(pattern->mask(head));
}

void require_all_keys(const HeadInput& head, const std::string& changed_by) {
  const KeyMask* mask = head.visibility.mask();
  if (mask == nullptr) return;
  throw UnsupportedError(fault(fmt::format("{} in head {}.{}", changed_by, head.layer, head.head),
                               "a head without a mask",
                               fmt::format("a head in which {} hides keys", mask->name()),
                               "remove one of the two, or write a pattern that does both"));
}

std::vector<std::string> HeadIntervention::notices(const SourceInfo& source, Index longest) const {
  std::vector<std::string> notices;
  if (normalizer != nullptr) notices.push_back(normalizer->notice(longest));
  if (pattern != nullptr) notices.push_back(pattern->notice(source, longest));
  std::erase(notices, "");
  return notices;
}

int first_changed_layer(const HeadInterventions& interventions) {
  int first = interventions.layers();
  interventions.each([&](int layer, int, const HeadIntervention& of_head) {
    if (of_head.changes()) first = std::min(first, layer);
  });
  return first;
}

void require_all_heads(const HeadInterventions& interventions, const SourceInfo& source) {
  const int layers = interventions.layers(), heads = interventions.heads();
  if (interventions.empty() || (layers == source.layers && heads == source.heads)) return;
  throw UsageError(fault("HeadInterventions",
                         fmt::format("one for each of {} x {} heads", source.layers, source.heads),
                         fmt::format("{} x {}", layers, heads), "see make_interventions()"));
}

void HeadSource::intervene(const HeadInterventions& interventions) {
  if (interventions.empty()) return;
  throw UnsupportedError(fault(info().name, "a source that supports interventions",
                               "a source that does not", "give a checkpoint or a dump file"));
}

void HeadSource::set_context(Index length) {
  for (const Index tokens : info().documents) {
    if (tokens <= length) continue;
    throw UnsupportedError(
        fault(info().name, "a source that can shorten its context",
              fmt::format("a source of {} tokens that cannot be cut to {}", tokens, length),
              "ask for its own length only"));
  }
}

}  // namespace headgauge
