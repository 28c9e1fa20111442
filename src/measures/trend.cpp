// The random walk that slopes and forecasts come from (docs/mathematics.md 7b).
#include <algorithm>
#include <cmath>

#include "measures/dispersion.hpp"

namespace headgauge {
namespace {

constexpr double kNarrowest = 1.5;         // of an octave whose bins do not end at powers of two
constexpr double kLeastGrowth = 0.1;       // of log n per unit of log position
constexpr double kSinglePrecision = 1e-4;  // relative: what rounding may do to a mean
constexpr std::size_t kFewestTrendOctaves = 5;
constexpr double kTrendErrors = 2.0;

struct Step {
  double position = 0, keys = 0, value = 0;  // differences
  double weight = 0;
  bool grows() const { return keys >= kLeastGrowth * position; }
};

// Each octave back weighs 1/sqrt 2 of the one after it: sqrt of its mean position.
std::vector<Step> steps_of(std::span<const Octave> octaves) {
  std::vector<Step> steps;
  for (std::size_t k = 1; k < octaves.size(); ++k) {
    const Octave &from = octaves[k - 1], &to = octaves[k];
    steps.push_back({to.position - from.position, to.keys - from.keys, to.value - from.value,
                     std::exp((to.position - octaves.back().position) / 2)});
  }
  return steps;
}

// Weighted sums of deviations: variance of one, and q = sum w^2 of the weights scaled to sum 1.
class Spread {
 public:
  void add(double weight, double deviation) {
    weight_ += weight;
    square_ += weight * weight;
    deviation_ += weight * deviation * deviation;
  }
  double q() const { return square_ / (weight_ * weight_); }
  double variance() const { return deviation_ / weight_ / (1 - q()); }

 private:
  double weight_ = 0, square_ = 0, deviation_ = 0;
};

}  // namespace

Trend fit_trend(std::span<const Octave> octaves) {
  const std::vector<Step> steps = steps_of(octaves);
  double weight = 0, sum = 0;
  Index growing = 0;
  for (const Step& step : steps) {
    if (!step.grows()) continue;
    weight += step.weight;
    sum += step.weight * step.value / step.keys;
    ++growing;
  }
  Trend trend;
  if (growing == 0) return trend;
  trend.slope = sum / weight;
  Spread of_slope, of_step;
  for (const Step& step : steps) {
    of_step.add(step.weight, (step.value - trend.slope * step.keys) / step.position);
    if (step.grows()) of_slope.add(step.weight, step.value / step.keys - trend.slope);
  }
  if (growing > 1) {
    trend.standard_error = std::sqrt(of_slope.variance() * of_slope.q());
    trend.degrees_of_freedom = 1 / of_slope.q() - 1;
  }
  if (steps.size() < 2) return trend;
  const double freedom = 1 / of_step.q() - 1;
  if (freedom > 2) {
    trend.next_step = std::sqrt(of_step.variance() * (1 + of_step.q()) * freedom / (freedom - 2));
    trend.next_degrees_of_freedom = freedom;
  }
  return trend;
}

std::vector<OctaveBins> octave_bins(std::span<const double> edges) {
  std::vector<OctaveBins> octaves;
  Index last = std::ssize(edges);
  for (Index first = last - 1; first >= 1; --first) {
    const double lower = edges[first - 1];
    if (edges[last - 1] < kNarrowest * lower) continue;
    octaves.push_back({first, last});
    last = first;
  }
  std::ranges::reverse(octaves);
  return octaves;
}

std::vector<Index> octave_lengths(std::span<const double> lengths) {
  std::vector<Index> taken;
  for (Index l = std::ssize(lengths) - 1; l >= 0; --l) {
    const double length = lengths[l];
    if (length < 2) break;
    if (taken.empty() || lengths[taken.back()] >= kNarrowest * length) {
      taken.push_back(l);
    }
  }
  std::ranges::reverse(taken);
  return taken;
}

Forecast forecast_effective_tokens(std::span<const Octave> octaves, double position) {
  Forecast forecast;
  if (octaves.size() < kFewestTrendOctaves) return forecast;
  const Trend trend = fit_trend(octaves);
  if (std::isnan(trend.slope) || std::isnan(trend.next_step)) return forecast;
  const Octave &last = octaves.back(), &before = octaves[octaves.size() - 2];
  const double ahead = position - last.position;
  // A window or a pattern lets the number of keys grow more slowly than the text, or not at all.
  const double growth = (last.keys - before.keys) / (last.position - before.position);
  const double more_keys = std::clamp(growth, 0.0, 1.0) * ahead;
  const double value = last.value + trend.slope * more_keys;
  forecast.value = std::exp(std::clamp(value, 0.0, std::max(0.0, last.keys + more_keys)));
  forecast.standard_error = forecast.value * std::hypot(trend.next_step * ahead, kSinglePrecision);
  forecast.degrees_of_freedom = trend.next_degrees_of_freedom;
  return forecast;
}

std::optional<bool> forecast_holds(std::span<const Octave> octaves) {
  if (octaves.empty()) return std::nullopt;
  const Octave& last = octaves.back();
  const Forecast forecast =
      forecast_effective_tokens(octaves.first(octaves.size() - 1), last.position);
  if (std::isnan(forecast.value)) return std::nullopt;
  return std::abs(std::exp(last.value) - forecast.value) <= kTrendErrors * forecast.standard_error;
}

}  // namespace headgauge
