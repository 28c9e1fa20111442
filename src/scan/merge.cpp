#include "scan/merge.hpp"

#include <algorithm>
#include <cmath>

namespace headgauge {
namespace {

// Where the new dimension goes: after layer and head.
std::size_t place(const LabelledArray& metric) {
  const auto other = [](const std::string& dim) { return dim != "layer" && dim != "head"; };
  return static_cast<std::size_t>(std::ranges::find_if(metric.dims, other) - metric.dims.begin());
}

// The cells of one run among those of all: `inner` neighbours, then those of the next run.
struct Layout {
  std::size_t outer = 1, inner = 1, runs = 0;
  template <class T>
  void put(const std::vector<T>& from, std::size_t run, std::vector<T>& to) const {
    for (std::size_t o = 0; o < outer; ++o) {
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(o * inner), inner,
                  to.begin() + static_cast<std::ptrdiff_t>((o * runs + run) * inner));
    }
  }
};

Layout layout_of(const LabelledArray& metric, const std::string& dim, const Results& merged) {
  Layout layout;
  for (const std::string& name : metric.dims) {
    const auto size = static_cast<std::size_t>(merged.coord_size(name));
    if (name == dim) {
      layout.runs = size;
    } else {
      (layout.runs == 0 ? layout.outer : layout.inner) *= size;
    }
  }
  return layout;
}

// Of what a difference means something.
bool has_change(const std::string& name) {
  return !name.ends_with("_by_position") && !name.ends_with("_partner");
}

}  // namespace

void add_change(const std::string& name, const std::string& dim, Results& merged) {
  const LabelledArray& metric = *merged.metric(name);
  const Layout layout = layout_of(metric, dim, merged);
  LabelledArray& change = merged.add_metric(name + "_change", metric.dims, metric.unit);
  if (!metric.standard_error.empty())
    change.standard_error.assign(change.values.size(), kUndefined);
  // -1 stands for "none found".
  const bool may_lack = name.starts_with("critical_n");
  for (std::size_t o = 0; o < layout.outer; ++o) {
    for (std::size_t run = 0; run < layout.runs; ++run) {
      for (std::size_t i = 0; i < layout.inner; ++i) {
        const std::size_t first = o * layout.runs * layout.inner + i;
        const std::size_t at = first + run * layout.inner;
        if (may_lack && (metric.values[at] < 0 || metric.values[first] < 0)) continue;
        change.values[at] = metric.values[at] - metric.values[first];
        if (!metric.standard_error.empty()) {
          change.standard_error[at] =
              run == 0 ? (std::isnan(metric.standard_error[at]) ? kUndefined : 0.0)
                       : std::hypot(metric.standard_error[at], metric.standard_error[first]);
        }
      }
    }
  }
}

void merge_runs(std::span<const Results* const> runs, const std::string& dim,
                const std::function<bool(const LabelledArray&)>& wanted, Results& merged) {
  for (const auto& [name, original] : runs.front()->metrics) {
    if (!wanted(original)) continue;
    std::vector<std::string> dims = original.dims;
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(place(original)), dim);
    LabelledArray& metric = merged.add_metric(name, dims, original.unit);
    const Layout layout = layout_of(metric, dim, merged);
    if (!original.standard_error.empty())
      metric.standard_error.assign(metric.values.size(), kUndefined);
    if (!original.rows.empty()) metric.rows.assign(metric.values.size(), 0);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const LabelledArray* part = runs[run]->metric(name);
      if (part == nullptr || part->dims != original.dims) continue;
      layout.put(part->values, run, metric.values);
      if (!metric.standard_error.empty() && !part->standard_error.empty()) {
        layout.put(part->standard_error, run, metric.standard_error);
      }
      if (!metric.rows.empty() && !part->rows.empty()) layout.put(part->rows, run, metric.rows);
    }
    if (has_change(name)) add_change(name, dim, merged);
  }
}

}  // namespace headgauge
