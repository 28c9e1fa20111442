#include "scan/merge.hpp"

#include <cmath>

namespace headgauge {

void add_change(const std::string& name, const std::string& dim, Results& merged) {
  const LabelledArray& metric = merged.require_metric(name);
  const LabelledArray original = metric.isel(dim, 0);
  LabelledArray change(metric.dims(), metric.unit);
  change.none = metric.none;
  change.change_of = name;
  const bool errors = !metric.standard_error.empty();
  if (errors) change.with_standard_errors();
  for (Index run = 0; run < metric.dim(dim).size(); ++run) {
    LabelledArray slice = metric.isel(dim, run);
    slice.rows.clear();
    for (std::size_t i = 0; i < slice.values.size(); ++i) {
      const double before = original.values[i], after = slice.values[i];
      const bool none = metric.none && (before == *metric.none || after == *metric.none);
      slice.values[i] = none ? kUndefined : after - before;
      if (!errors) continue;
      double& error = slice.standard_error[i];
      if (none) {
        error = kUndefined;
      } else if (run == 0) {
        error = std::isnan(error) ? kUndefined : 0.0;
      } else {
        error = std::hypot(error, original.standard_error[i]);
      }
    }
    change.put(dim, run, slice);
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
    // Of the rest a difference means something.
    if (!original.has_dim("position") && !original.identifier) add_change(name, dim, merged);
  }
}

}  // namespace headgauge
