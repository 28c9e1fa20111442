#include "headgauge/heads.hpp"

namespace headgauge {

void Exchange::apply(HeadInput& head) const {
  if (rule != nullptr) head.rule = rule.get();
}

void HeadSource::exchange(const Exchanges& exchanges) {
  if (exchanges.empty()) return;
  throw UnsupportedError(fault(info().name, "a source whose attention can be exchanged",
                               "one that cannot", "give a checkpoint or a dump file"));
}

}  // namespace headgauge
