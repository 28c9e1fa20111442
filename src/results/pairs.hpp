// Pairs the values of two runs, or of the original and an intervention.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/changes.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/results.hpp"
#include "results/mean_of.hpp"
#include "statistics/student.hpp"

namespace headgauge {

// Returns whether two values differ by no more than rounding.
inline bool is_rounding(double before, double after) {
  return std::abs(after - before) <= kRounding * std::max(std::abs(before), std::abs(after));
}

// A value of a metric on both sides, with its indices along the dims of MetricPairs.
struct Pair {
  std::span<const Index> cell;
  double before, after;
  double standard_error;  // standard error of the change; undefined if there is none
  double degrees_of_freedom;
};

// The values of a metric before and after.
class MetricPairs {
 public:
  // Pairs the first place along a dim with another: the runs of a diff, or the original and an
  // intervention. `change`: the metric's, if results do not name it NAME_change.
  MetricPairs(const Results& results, const std::string& name, const std::string& dim = "run",
              Index place = 1, const LabelledArray* change = nullptr)
      : name_(name),
        before_(results.require_metric(name).isel(dim, 0)),
        after_(results.require_metric(name).isel(dim, place)) {
    if (change == nullptr) change = results.metric(name + "_change");
    const bool known = change != nullptr && change->change_of == name;
    change_ = !known                 ? difference(before_, after_)
              : change->has_dim(dim) ? change->isel(dim, place)
                                     : *change;
    if (dim != "run") intervention_ = {dim, results.require_coord(dim).label(place)};
  }

  const std::vector<Dimension>& dims() const { return before_.dims(); }
  bool of_heads() const { return before_.of_heads(); }
  // Returns whether a value means "none was found".
  bool is_none(double value) const { return before_.is_none(value); }

  // Visits every pair in order.
  template <class Visit>
  void each(const Visit& visit) const {
    before_.each([&](std::span<const Index> cell, std::size_t at) {
      const MeanWithError change = change_at(at);
      visit(Pair{cell, before_.values[at], after_.values[at], change.standard_error,
                 change.degrees_of_freedom});
    });
  }

  // Describes a pair as a Change, without the counts.
  Change described(const Pair& pair) const {
    Change change;
    change.metric = name_;
    change.none = before_.none;
    if (intervention_) change.labels.push_back(*intervention_);
    for (std::size_t k = 0; k < dims().size(); ++k) {
      change.labels.emplace_back(dims()[k].name(), dims()[k].label(pair.cell[k]));
    }
    change.cell.assign(pair.cell.begin(), pair.cell.end());
    change.before = pair.before;
    change.after = pair.after;
    change.change = pair.after - pair.before;
    change.standard_error = pair.standard_error;
    const double size = std::abs(change.change);
    if (!std::isnan(change.standard_error)) {
      change.degrees_of_freedom = pair.degrees_of_freedom;
      change.errors = size == 0 ? 0 : size / change.standard_error;
    }
    return change;
  }

 private:
  // Returns the standard error and degrees of freedom of a change; its value is not used. If the
  // degrees of freedom are unknown, as in older files, the standard error counts as known.
  MeanWithError change_at(std::size_t at) const { return mean_of(change_.at_offset(at)); }

  std::string name_;
  LabelledArray before_, after_;
  LabelledArray change_;
  std::optional<std::pair<std::string, std::string>> intervention_;
};

}  // namespace headgauge
