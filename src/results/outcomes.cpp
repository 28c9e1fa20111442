#include "results/outcomes.hpp"

#include <algorithm>
#include <utility>

#include "headgauge/cells.hpp"

namespace headgauge {

Index add_outcomes(const std::vector<std::string>& names, Results& results) {
  std::vector<std::string> labels = outcomes_of(results);
  const Index first = std::ssize(labels);
  for (std::string name : names) {
    while (std::ranges::count(labels, name) > 0) name += " (task)";
    labels.push_back(std::move(name));
  }
  // The metrics get longer, so they leave the results until the coordinate has its labels.
  std::vector<std::pair<LabelledArray*, LabelledArray>> before;
  for (auto& [name, metric] : results.metrics) {
    if (metric.has_dim(kOutcome))
      before.emplace_back(&metric, std::exchange(metric, LabelledArray()));
  }
  results.set_coord(kOutcome, labels);
  for (auto& [metric, old] : before) {
    std::vector<Dimension> dims = old.dims();
    std::ranges::replace_if(
        dims, [](const Dimension& dim) { return dim.name() == kOutcome; },
        results.require_coord(kOutcome));
    *metric = undefined_like(old, std::move(dims));
    metric->put_labelled(old);
  }
  return first;
}

}  // namespace headgauge
