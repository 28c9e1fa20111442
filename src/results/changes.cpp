// Which values changed, and by how much.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "headgauge/cells.hpp"
#include "headgauge/diff.hpp"
#include "results/pairs.hpp"

namespace headgauge {
namespace {

// Along these dims each label has a line of its own; along the others the value that stands out
// most speaks for all.
bool stands_alone(const std::string& dim) {
  return dim == "layer" || dim == "head" || dim == "normalizer" || dim == "pattern";
}

// Larger: stands out more.
std::tuple<double, double> rank(const Change& change) {
  return {std::isnan(change.errors) ? 0 : change.errors, change.relative};
}

// The largest |value| of a metric.
double largest_of(const LabelledArray& metric) {
  double largest = 0;
  for (const double value : metric.values) {
    if (std::abs(value) > largest && metric.none != value) largest = std::abs(value);
  }
  return largest;
}

// Puts together the list, metric by metric.
class Lister {
 public:
  Lister(const Results& results, double threshold) : results_(results) {
    list_.threshold = threshold;
  }

  ChangeList list() {
    for (const auto& [name, change] : results_.metrics) {
      if (change.change_of.empty()) continue;
      const LabelledArray* metric = results_.metric(change.change_of);
      if (metric == nullptr) continue;
      if (metric->has_dim("run")) {
        add(MetricPairs(results_, change.change_of), largest_of(*metric));
      } else if (!change.has_dim("position")) {
        add_interventions(*metric, change);
      }
    }
    list_.by_chance *= std::erfc(list_.threshold / std::numbers::sqrt2);
    const auto larger = [](const Change& a, const Change& b) { return rank(a) > rank(b); };
    std::ranges::stable_sort(list_.measured, larger);
    std::ranges::stable_sort(list_.unmeasured, larger);
    list_.found = std::ssize(list_.measured) + std::ssize(list_.unmeasured);
    return std::move(list_);
  }

 private:
  void add_interventions(const LabelledArray& metric, const LabelledArray& change) {
    const std::string dim = intervention_dimension(results_);
    if (dim.empty() || !metric.has_dim(dim) || !change.has_dim(dim)) return;
    const double largest = largest_of(metric);
    for (Index k = 1; k < change.dim(dim).size(); ++k) {
      add(MetricPairs(results_, change.change_of, change, dim, k), largest);
    }
  }

  void add(const MetricPairs& metric, double largest) {
    std::size_t alone = 0;
    while (alone < metric.dims().size() && stands_alone(metric.dims()[alone].name())) ++alone;
    std::vector<Index> group;
    Change measured, unmeasured;
    const auto flush = [&] {
      // Where only the shorter lengths have too few rows for errors, the longer ones say more.
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
      const std::span<const Index> of = pair.cell.first(alone);
      if (!std::ranges::equal(of, group)) {
        flush();
        group.assign(of.begin(), of.end());
      }
      if (std::isnan(pair.before) || std::isnan(pair.after)) return;
      if (metric.is_none(pair.before) || metric.is_none(pair.after)) return;
      const double error = pair.standard_error;
      // An error of 0 leaves nothing to chance.
      if (error > 0) list_.by_chance += 1;
      const double size = std::abs(pair.after - pair.before);
      const bool same = size <= kRounding * std::max(std::abs(pair.before), std::abs(pair.after));
      Change& best = std::isnan(error) ? unmeasured : measured;
      ++best.values;
      if (same || (!std::isnan(error) && !(size > list_.threshold * error))) return;
      ++best.changed;
      Change change = metric.described(pair);
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
};

}  // namespace

ChangeList list_changes(const Results& results, double errors) {
  return Lister(results, errors).list();
}

}  // namespace headgauge
