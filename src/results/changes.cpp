// Finds the values that changed, and by how much.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/diff.hpp"
#include "results/pairs.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// Returns true for dims whose labels are listed separately. Along other dims only the value that
// stands out most is listed.
bool stands_alone(const std::string& dim) {
  return dim == "layer" || dim == "head" || dim == "normalizer" || dim == "pattern" ||
         dim == kOutcome;
}

// Orders changes: a larger rank stands out more. Those with an error of 0 come last: a few values
// that agree say little of how far chance goes.
std::tuple<double, double, double> rank(const Change& change) {
  if (std::isinf(change.errors)) return {-2, 0, change.relative};
  return {std::isnan(change.p) ? 0 : -change.p, std::isnan(change.errors) ? 0 : change.errors,
          change.relative};
}

// Returns the largest |value| of a metric.
double largest_of(const LabelledArray& metric) {
  double largest = 0;
  for (const double value : metric.values) {
    if (std::abs(value) > largest && !metric.is_none(value)) largest = std::abs(value);
  }
  return largest;
}

// Returns true if both values are defined and neither means "none was found".
bool both_there(const MetricPairs& metric, const Pair& pair) {
  return !std::isnan(pair.before) && !std::isnan(pair.after) && !metric.is_none(pair.before) &&
         !metric.is_none(pair.after);
}

double p_of(const Pair& pair) {
  return t_test({pair.after - pair.before, pair.standard_error, pair.degrees_of_freedom}).p;
}

// Builds the list metric by metric: first the tested changes, then the others.
class Lister {
 public:
  Lister(const Results& results, double level) : results_(results) { list_.level = level; }

  ChangeList list() {
    each_metric([&](const MetricPairs& metric, double) { test(metric); });
    adjusted_ = adjusted_p_values(adjusted_);
    each_metric([&](const MetricPairs& metric, double largest) { add(metric, largest); });
    list_.by_chance *= list_.level;
    const auto larger = [](const Change& a, const Change& b) { return rank(a) > rank(b); };
    std::ranges::stable_sort(list_.measured, larger);
    std::ranges::stable_sort(list_.unmeasured, larger);
    list_.found = std::ssize(list_.measured) + std::ssize(list_.unmeasured);
    return std::move(list_);
  }

 private:
  // Calls visit(pairs, largest |value|) for each metric, one at a time because the pairs copy the
  // values.
  template <class Visit>
  void each_metric(const Visit& visit) const {
    const std::string intervention = intervention_dimension(results_);
    for (const auto& [name, change] : results_.metrics) {
      if (change.change_of.empty()) continue;
      const LabelledArray* metric = results_.metric(change.change_of);
      if (metric == nullptr) continue;
      const bool of_runs = metric->has_dim("run");
      const std::string dim = of_runs ? "run" : intervention;
      if (!of_runs &&
          (change.has_dim("position") || !metric->has_dim(dim) || !change.has_dim(dim))) {
        continue;
      }
      const double largest = largest_of(*metric);
      for (Index k = 1; k < metric->dim(dim).size(); ++k) {
        visit(MetricPairs(results_, change.change_of, dim, k, of_runs ? nullptr : &change),
              largest);
      }
    }
  }

  // A standard error of 0 leaves no randomness, so the pair is not tested.
  void test(const MetricPairs& metric) {
    metric.each([&](const Pair& pair) {
      const bool tested = both_there(metric, pair) && pair.standard_error > 0;
      adjusted_.push_back(tested ? p_of(pair) : kUndefined);
    });
  }

  void add(const MetricPairs& metric, double largest) {
    std::size_t alone = 0;
    while (alone < metric.dims().size() && stands_alone(metric.dims()[alone].name())) ++alone;
    std::vector<Index> group;
    Change measured, unmeasured;
    const auto flush = [&] {
      // If only the shorter lengths have too few rows for standard errors, the longer ones suffice.
      if (measured.values > 0) {
        list_.too_few += unmeasured.values;
      } else {
        put(std::move(unmeasured), list_.unmeasured, list_.unmeasured_values,
            list_.unmeasured_changed);
      }
      put(std::move(measured), list_.measured, list_.values, list_.changed);
      measured = unmeasured = {};
    };
    metric.each([&](const Pair& pair) {
      const double adjusted_p = adjusted_[next_++];
      const std::span<const Index> of = pair.cell.first(alone);
      if (!std::ranges::equal(of, group)) {
        flush();
        group.assign(of.begin(), of.end());
      }
      if (!both_there(metric, pair)) return;
      const double error = pair.standard_error;
      const double size = std::abs(pair.after - pair.before);
      Change& best = std::isnan(error) ? unmeasured : measured;
      ++best.values;
      if (is_rounding(pair.before, pair.after) || adjusted_p > list_.level) return;
      ++best.changed;
      if (error > 0) list_.by_chance += 1;
      Change change = metric.described(pair);
      change.p = p_of(pair);
      change.adjusted_p = std::isnan(adjusted_p) ? change.p : adjusted_p;
      change.relative = size / largest;
      if (best.changed > 1 && rank(change) <= rank(best)) return;
      change.values = best.values;
      change.changed = best.changed;
      best = std::move(change);
    });
    flush();
  }

  static void put(Change best, std::vector<Change>& list, std::int64_t& values,
                  std::int64_t& changed) {
    values += best.values;
    changed += best.changed;
    if (best.changed > 0) list.push_back(std::move(best));
  }

  const Results& results_;
  ChangeList list_;
  std::vector<double> adjusted_;  // p-value of every pair, in the order of visits
  std::size_t next_ = 0;
};

}  // namespace

ChangeList list_changes(const Results& results, double level) {
  return Lister(results, level).list();
}

}  // namespace headgauge
