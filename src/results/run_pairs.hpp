// The values of a diff, old and new side by side.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/diff.hpp"
#include "results/longest.hpp"
#include "results/overlap.hpp"

namespace headgauge {

// One value of a metric in both runs, by its indices along the metric's dims without `run`.
struct RunPair {
  const std::vector<Index>& cell;
  double before, after;
  double before_error, after_error;  // undefined where there is none

  double error() const { return std::hypot(before_error, after_error); }
};

// A metric of diff() with `run` among its dims.
class PairedMetric {
 public:
  PairedMetric(const Results& diff, const std::string& name)
      : diff_(diff), metric_(*diff.metric(name)) {
    std::size_t run = 0;
    while (metric_.dims[run] != "run") ++run;
    for (std::size_t k = 0; k < metric_.dims.size(); ++k) {
      if (k == run) continue;
      dims_.push_back(metric_.dims[k]);
      sizes_.push_back(diff.coord_size(metric_.dims[k]));
      if (k > run) inner_ *= static_cast<std::size_t>(sizes_.back());
    }
  }

  const std::vector<std::string>& dims() const { return dims_; }

  // Visits every pair in order.
  template <class Visit>
  void each(const Visit& visit) const {
    std::size_t at = 0;
    each_cell(sizes_, [&](const std::vector<Index>& cell) {
      const std::size_t here = at++;
      const std::size_t first = here / inner_ * 2 * inner_ + here % inner_;
      const std::size_t second = first + inner_;
      const bool errors = !metric_.standard_error.empty();
      visit(RunPair{cell, metric_.values[first], metric_.values[second],
                    errors ? metric_.standard_error[first] : kUndefined,
                    errors ? metric_.standard_error[second] : kUndefined});
    });
  }

  // What is said of a pair, all but how many there are.
  Change described(const std::string& name, const RunPair& pair) const {
    Change change;
    change.metric = name;
    for (std::size_t k = 0; k < dims_.size(); ++k) {
      change.labels.emplace_back(dims_[k], label_text(*diff_.coord(dims_[k]), pair.cell[k]));
    }
    change.cell = pair.cell;
    change.before = pair.before;
    change.after = pair.after;
    change.change = pair.after - pair.before;
    change.standard_error = pair.error();
    const double size = std::abs(change.change);
    if (!std::isnan(change.standard_error)) {
      change.errors = size == 0 ? 0 : size / change.standard_error;
    }
    return change;
  }

 private:
  const Results& diff_;
  const MetricArray& metric_;
  std::vector<std::string> dims_;
  std::vector<Index> sizes_;
  std::size_t inner_ = 1;
};

// Whether a metric's values are numbers of keys of which -1 stands for "none found".
inline bool may_lack(const std::string& name) {
  return name.starts_with("critical_n");
}

}  // namespace headgauge
