#include <fmt/format.h>

#include "headgauge/heads.hpp"
#include "headgauge/patterns.hpp"

namespace headgauge {

void HeadIntervention::apply(HeadInput& head) const {
  if (normalizer != nullptr) head.normalizer = normalizer.get();
  if (pattern != nullptr) head.visibility = head.visibility.masked(pattern->mask(head));
}

std::vector<std::string> HeadIntervention::notices(const SourceInfo& source, Index longest) const {
  std::vector<std::string> notices;
  if (normalizer != nullptr) notices.push_back(normalizer->notice(longest));
  if (pattern != nullptr) notices.push_back(pattern->notice(source, longest));
  std::erase(notices, "");
  return notices;
}

void HeadSource::intervene(const HeadInterventions& interventions) {
  if (interventions.empty()) return;
  throw UnsupportedError(fault(info().name, "a source whose attention can be changed",
                               "one that cannot", "give a checkpoint or a dump file"));
}

void HeadSource::set_context(Index length) {
  for (const Index tokens : info().documents) {
    if (tokens <= length) continue;
    throw UnsupportedError(
        fault(info().name, "a source that can be cut to a context",
              fmt::format("one of {} tokens that cannot be cut to {}", tokens, length),
              "ask for its own length alone"));
  }
}

}  // namespace headgauge
