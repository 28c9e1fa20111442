#include "results/series_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headgauge/metric_names.hpp"
#include "results/declared.hpp"
#include "results/mean_of.hpp"
#include "results/pairs.hpp"
#include "results/sentences.hpp"
#include "results/series_notices.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// Returns the first step from which on all values are at least as near to the last as to the first.
double half_step(const StepCurve& curve) {
  const double first = curve.values.front().value, last = curve.values.back().value;
  double found = kUndefined;
  for (std::size_t i = curve.steps.size(); i-- > 0;) {
    if (std::abs(curve.values[i].value - last) > std::abs(curve.values[i].value - first)) break;
    found = curve.steps[i];
  }
  return first == last ? kUndefined : found;
}

}  // namespace

StepCurve curve_of(const Results& joined, const LabelledArray& metric, Index layer, Index head) {
  const auto steps = joined.coord_numbers("step");
  StepCurve curve;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const Estimate found = metric.at({layer, head, static_cast<Index>(step)});
    if (std::isnan(found.value)) continue;
    curve.steps.push_back(steps[step]);
    curve.values.push_back(mean_of(found));
  }
  return curve;
}

Estimate slope_of(const StepCurve& curve) {
  const auto count = static_cast<double>(curve.steps.size());
  const double mean = std::accumulate(curve.steps.begin(), curve.steps.end(), 0.0) / count;
  double spread = 0;
  for (const double step : curve.steps) spread += (step - mean) * (step - mean);
  Estimate slope{.value = 0};
  double variance = 0, freedom = kKnownError;
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    const double weight = (curve.steps[i] - mean) / spread;
    slope.value += weight * curve.values[i].value;
    variance += weight * weight * curve.values[i].standard_error * curve.values[i].standard_error;
    freedom = std::min(freedom, curve.values[i].degrees_of_freedom);
  }
  slope.standard_error = std::sqrt(variance);
  slope.degrees_of_freedom = freedom;
  return slope;
}

void judge_changes(Results& joined, double level) {
  LabelledArray& half = add_declared(joined, metric::series_half_step);
  LabelledArray& changes = *joined.metric(metric::series_change);
  const auto metrics = joined.coord_names("series_metric");
  std::vector<double> tested(changes.values.size(), kUndefined);
  changes.each([&](std::span<const Index> cell, std::size_t at) {
    const Estimate change = changes.at_offset(at);
    if (std::isnan(change.value)) return;
    const StepCurve curve =
        curve_of(joined, joined.require_metric(metrics[static_cast<std::size_t>(cell[2])]), cell[0],
                 cell[1]);
    half.values[at] = half_step(curve);
    if (std::isnan(change.standard_error)) return;
    const bool same = is_rounding(curve.values.front().value, curve.values.back().value);
    changes.p[at] = same ? 1 : t_test(mean_of(change)).p;
    // A standard error of 0 leaves no randomness, so the change is not tested.
    if (change.standard_error > 0) tested[at] = changes.p[at];
  });
  tested = adjusted_p_values(tested);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    if (!std::isnan(tested[i])) changes.p[i] = tested[i];
  }

  Scope scope;
  const auto& settings = joined.settings;
  scope.count("results", joined.coord_size("step"))
      .count("changing", std::ranges::count_if(changes.p, [&](double v) { return v < level; }))
      .count("tested_values",
             std::ranges::count_if(changes.p, [](double v) { return !std::isnan(v); }))
      .give("level", fmt::format("{:g}", 100 * level));
  if (settings.contains("length")) scope.give("at_length", settings["length"].dump());
  if (settings.contains("judged_n")) {
    scope.give("at_n", fmt::format("{}", settings["judged_n"].get<double>()));
  }
  if (settings.contains("pairs")) scope.give("pairs", settings["pairs"].dump());
  add_sentences("series", joined, scope, joined.summary);
  const std::string untested = untested_notice(joined);
  if (!untested.empty()) joined.notices.push_back(untested);
}

}  // namespace headgauge
