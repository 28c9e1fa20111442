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

std::vector<std::vector<double>> losses_of(const Predictions& predictions) {
  std::vector<std::vector<double>> losses;
  for (const NextTokens& next : predictions) losses.push_back(next.losses);
  return losses;
}

bool SourceInfo::has_attention(int layer) const {
  return !std::ranges::binary_search(without_attention, layer);
}

std::vector<int> SourceInfo::attention_layers() const {
  std::vector<int> found;
  for (int layer = 0; layer < layers; ++layer) {
    if (has_attention(layer)) found.push_back(layer);
  }
  return found;
}

Index SourceInfo::attention_layers_before(int layer) const {
  const auto& none = without_attention;
  return layer - (std::ranges::lower_bound(none, layer) - none.begin());
}

std::string without_attention_notice(const SourceInfo& source) {
  const auto& none = source.without_attention;
  if (none.empty()) return "";
  return fmt::format(
      "{} {} of {} {} no attention and {} left out", none.size() == 1 ? "layer" : "layers",
      labels_text(std::vector<double>(none.begin(), none.end()), none.size()), source.layers,
      none.size() == 1 ? "has" : "have", none.size() == 1 ? "is" : "are");
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
