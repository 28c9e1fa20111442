#include <fmt/format.h>

#include <algorithm>

#include "headgauge/array.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/patterns.hpp"
#include "heads/masked_row.hpp"

namespace headgauge {

namespace {

void share_queries(std::span<HeadInput> heads) {
  for (HeadInput& head : heads) {
    head.group_queries.clear();
    for (const HeadInput& other : heads) {
      if (other.kv_head == head.kv_head) head.group_queries.push_back(other.queries);
    }
    if (head.group_queries.size() == 1) head.group_queries.clear();
  }
}

}  // namespace

void HeadIntervention::apply(HeadInput& head, const HeadInput* alike) const {
  if (changes() && !head.own) head.own = OwnAttention{head.normalizer, head.visibility};
  if (normalizer != nullptr) head.normalizer = normalizer.get();
  if (pattern == nullptr) return;
  require_all_keys(head, pattern->info().name);
  head.visibility =
      alike != nullptr ? alike->visibility : head.visibility.masked(pattern->mask(head));
}

void intervene_in_layer(std::span<HeadInput> heads, const HeadInterventions& interventions,
                        ThreadPool& pool) {
  share_queries(heads);
  if (interventions.empty()) return;
  // The first head with the same keys and pattern, if its mask serves both.
  const auto alike = [&](Index h) {
    const HeadInput& head = heads[h];
    const Pattern* pattern = interventions(head.layer, head.head).pattern.get();
    if (pattern == nullptr || !pattern->same_for_shared_keys()) return h;
    return std::ranges::find_if(heads,
                                [&](const HeadInput& other) {
                                  return other.kv_head == head.kv_head &&
                                         interventions(other.layer, other.head).pattern.get() ==
                                             pattern;
                                }) -
           heads.begin();
  };
  const auto count = std::ssize(heads);
  pool.for_each(count, [&](Index h) {
    if (alike(h) == h) interventions(heads[h].layer, heads[h].head).apply(heads[h]);
  });
  for (Index h = 0; h < count; ++h) {
    const Index first = alike(h);
    if (first != h) interventions(heads[h].layer, heads[h].head).apply(heads[h], &heads[first]);
  }
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
