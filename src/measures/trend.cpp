// The random walk that slopes and forecasts are estimated from (docs/mathematics.md 7b).
#include <algorithm>
#include <cmath>

#include "measures/dispersion.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kNarrowest = 1.5;         // for an octave whose bins do not end at powers of two
constexpr double kLeastGrowth = 0.1;       // growth of log n per unit of log position
constexpr double kSinglePrecision = 1e-4;  // relative error of a mean from rounding
constexpr std::size_t kFewestTrendOctaves = 5;

struct Step {
  double position = 0, keys = 0, value = 0;  // differences
  double weight = 0;
  bool grows() const { return keys >= kLeastGrowth * position; }
};

// Each octave has 1/sqrt 2 of the weight of the one after it: the root of its mean position.
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

// The weighted mean of the steps per unit of log n, if log n grows.
struct Drift {
  double value = 0, weight = 0;
  Index steps = 0;
};

Drift drift_of(const std::vector<Step>& steps) {
  Drift drift;
  for (const Step& step : steps) {
    if (!step.grows()) continue;
    drift.weight += step.weight;
    drift.value += step.weight * step.value / step.keys;
    ++drift.steps;
  }
  if (drift.steps > 0) drift.value /= drift.weight;
  return drift;
}

// A random walk with drift: a step of log position h has dy = b dx + s sqrt(h) z, with z normal of
// variance 1. Later steps carry more weight in the drift. In the scatter all steps have equal
// weight, around the drift that fits them best, so that its squares follow a chi-square
// distribution.
class Walk {
 public:
  explicit Walk(const std::vector<Step>& steps) : freedom_(static_cast<double>(steps.size())) {
    const Drift drift = drift_of(steps);
    drift_ = drift.value;
    double product = 0, information = 0;
    for (const Step& step : steps) {
      if (!step.grows()) continue;
      const double share = step.weight / drift.weight / step.keys;
      drift_variance_ += share * share * step.position;
      product += step.keys * step.value / step.position;
      information += step.keys * step.keys / step.position;
    }
    const double best = information > 0 ? product / information : 0;
    if (information > 0) freedom_ -= 1;
    for (const Step& step : steps) {
      const double error = step.value - best * (step.grows() ? step.keys : 0);
      variance_ += error * error / step.position / freedom_;
    }
  }

  double drift() const { return drift_; }
  double freedom() const { return freedom_; }
  // Returns the standard deviation of y at `ahead` of log position and `more_keys` of log n beyond
  // the last step: that of the walk combined with that of the drift.
  double deviation(double ahead, double more_keys) const {
    return std::sqrt(variance_ * (ahead + more_keys * more_keys * drift_variance_));
  }

 private:
  double drift_ = 0;
  double drift_variance_ = 0;  // in units of s^2
  double variance_ = 0;        // s^2
  double freedom_;
};

}  // namespace

Trend fit_trend(std::span<const Octave> octaves) {
  const std::vector<Step> steps = steps_of(octaves);
  const Drift drift = drift_of(steps);
  Trend trend;
  if (drift.steps == 0) return trend;
  trend.slope = drift.value;
  Spread of_slope;
  for (const Step& step : steps) {
    if (step.grows()) of_slope.add(step.weight, step.value / step.keys - trend.slope);
  }
  if (drift.steps > 1) {
    trend.standard_error = std::sqrt(of_slope.variance() * of_slope.q());
    trend.degrees_of_freedom = 1 / of_slope.q() - 1;
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

Forecast forecast_effective_tokens(std::span<const Octave> octaves, double position,
                                   double most_keys) {
  Forecast forecast;
  if (octaves.size() < kFewestTrendOctaves) return forecast;
  const Walk walk(steps_of(octaves));
  const Octave &last = octaves.back(), &before = octaves[octaves.size() - 2];
  const double ahead = position - last.position;
  // The number of keys may grow more slowly than the text, or not at all, under a window or a
  // pattern.
  const double growth = (last.keys - before.keys) / (last.position - before.position);
  const double more_keys =
      std::min(std::clamp(growth, 0.0, 1.0) * ahead, std::max(0.0, most_keys - last.keys));
  const double centre = last.value + walk.drift() * more_keys;
  const double deviation = std::hypot(walk.deviation(ahead, more_keys), kSinglePrecision);
  const double reach = student_quantile((1 - kForecastLevel) / 2, walk.freedom()) * deviation;
  const double all_keys = std::max(0.0, last.keys + more_keys);
  const auto tokens = [=](double log) { return std::exp(std::clamp(log, 0.0, all_keys)); };
  return {tokens(centre), tokens(centre - reach), tokens(centre + reach)};
}

std::optional<bool> forecast_holds(std::span<const Octave> octaves, double most_keys) {
  if (octaves.empty()) return std::nullopt;
  const Octave& last = octaves.back();
  const Forecast forecast =
      forecast_effective_tokens(octaves.first(octaves.size() - 1), last.position, most_keys);
  if (std::isnan(forecast.value)) return std::nullopt;
  // The ends may be limits of the possible range, which a rounded mean can touch.
  const double measured = std::exp(last.value), slack = kSinglePrecision * measured;
  return forecast.low - slack <= measured && measured <= forecast.high + slack;
}

}  // namespace headgauge
