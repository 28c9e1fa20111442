#include "scan/merge.hpp"

namespace headgauge {

void add_change(const std::string& name, const std::string& dim, Results& merged) {
  const LabelledArray& metric = merged.require_metric(name);
  const LabelledArray original = metric.isel(dim, 0);
  LabelledArray change(metric.dims(), metric.unit);
  change.change_of = name;
  if (!metric.standard_error.empty()) change.with_standard_errors();
  for (Index run = 0; run < metric.dim(dim).size(); ++run) {
    LabelledArray of_run = difference(original, metric.isel(dim, run));
    // The change of the original is exactly 0.
    if (run == 0) {
      for (double& error : of_run.standard_error) error *= 0;
    }
    change.put(dim, run, of_run);
  }
  merged.add_metric(name + "_change", std::move(change));
}

void merge_runs(std::span<const Results* const> runs, const std::string& dim,
                const std::function<bool(const LabelledArray&)>& wanted, Results& merged) {
  for (const auto& [name, original] : runs.front()->metrics) {
    if (!wanted(original)) continue;
    std::vector<const LabelledArray*> parts;
    for (const Results* run : runs) parts.push_back(run->metric(name));
    merged.add_metric(name, stack(parts, merged.require_coord(dim)));
    // The other metrics have a meaningful difference.
    if (original.has_dim("position") || original.identifier) continue;
    add_change(name, dim, merged);
  }
}

}  // namespace headgauge
