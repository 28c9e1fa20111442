#include "headgauge/heads.hpp"
#include "headgauge/patterns.hpp"

namespace headgauge {

void Exchange::apply(HeadInput& head) const {
  if (rule != nullptr) head.rule = rule.get();
  if (pattern != nullptr) head.visibility = head.visibility.masked(pattern->mask(head));
}

void HeadSource::exchange(const Exchanges& exchanges) {
  if (exchanges.empty()) return;
  throw UnsupportedError(fault(info().name, "a source whose attention can be exchanged",
                               "one that cannot", "give a checkpoint or a dump file"));
}

}  // namespace headgauge
