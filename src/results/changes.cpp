// Which values of a diff changed, by how much.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "headgauge/diff.hpp"
#include "results/run_pairs.hpp"

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

class Lister {
 public:
  Lister(const Results& diff, double errors) : diff_(diff), errors_(errors) {}

  ChangeList list() {
    for (const auto& [name, metric] : diff_.metrics) {
      const MetricArray* twin = diff_.metric(name + "_change");
      if (has_dim(metric, "run") && twin != nullptr) add_metric(name);
    }
    list_.by_chance *= std::erfc(errors_ / std::numbers::sqrt2);
    const auto larger = [](const Change& a, const Change& b) { return rank(a) > rank(b); };
    std::ranges::stable_sort(list_.measured, larger);
    std::ranges::stable_sort(list_.unmeasured, larger);
    return std::move(list_);
  }

 private:
  void add_metric(const std::string& name) {
    const PairedMetric metric(diff_, name);
    std::size_t alone = 0;
    while (alone < metric.dims().size() && stands_alone(metric.dims()[alone])) ++alone;
    double largest = 0;
    metric.each([&](const RunPair& pair) {
      for (const double value : {pair.before, pair.after}) {
        if (std::abs(value) > largest) largest = std::abs(value);
      }
    });
    std::vector<Index> group;
    Change measured, unmeasured;
    const auto flush = [&] {
      // Where only the shorter lengths have too few rows for errors, the longer ones tell more.
      if (measured.values > 0) {
        list_.too_few += unmeasured.values;
      } else {
        put(std::move(unmeasured), list_.unmeasured, list_.unmeasured_values,
            list_.unmeasured_changed);
      }
      put(std::move(measured), list_.measured, list_.values, list_.changed);
      measured = unmeasured = {};
    };
    metric.each([&](const RunPair& pair) {
      const std::vector<Index> of(pair.cell.begin(),
                                  pair.cell.begin() + static_cast<std::ptrdiff_t>(alone));
      if (of != group) {
        flush();
        group = of;
      }
      if (std::isnan(pair.before) || std::isnan(pair.after)) return;
      if (may_lack(name) && (pair.before < 0 || pair.after < 0)) return;
      const double error = pair.error();
      // An error of 0 leaves nothing to chance.
      if (error > 0) list_.by_chance += 1;
      const double size = std::abs(pair.after - pair.before);
      const bool same = size <= kRounding * std::max(std::abs(pair.before), std::abs(pair.after));
      Change& best = std::isnan(error) ? unmeasured : measured;
      ++best.values;
      if (same || (!std::isnan(error) && !(size > errors_ * error))) return;
      ++best.changed;
      Change change = metric.described(name, pair);
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

  const Results& diff_;
  double errors_;
  ChangeList list_;
};

}  // namespace

ChangeList list_changes(const Results& diff, double errors) {
  return Lister(diff, errors).list();
}

}  // namespace headgauge
