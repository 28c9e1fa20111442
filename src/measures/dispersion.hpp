// The dispersion group: how a head's entropy and largest weight change with the number of keys
// (docs/mathematics.md G6), and a forecast of how many keys it attends to at longer contexts
// (docs/mathematics.md 7b).
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "headgauge/measure.hpp"

namespace headgauge {

// A head's mean value on one octave of query positions.
struct Octave {
  double position = 0;  // logarithm of the mean position
  double keys = 0;      // mean logarithm of the number of keys, or logarithm of the mean number
  double value = 0;     // the value that changes with it
};

// The trend of a value along octaves: a random walk in log n whose drift is the slope
// (docs/mathematics.md 7b).
struct Trend {
  double slope = kUndefined;
  double standard_error = kUndefined;      // undefined with fewer than 2 steps
  double degrees_of_freedom = kUndefined;  // 1/q - 1
};
Trend fit_trend(std::span<const Octave> octaves);

// The neighbouring position bins [first, last) that form one octave; `edges` are the upper ends of
// the bins. Octaves end at the longest length, span at least a factor 1.5 and begin after position
// 1.
struct OctaveBins {
  Index first = 0;
  Index last = 0;
};
std::vector<OctaveBins> octave_bins(std::span<const double> edges);

inline constexpr double kForecastLevel = 0.95;

// A forecast and the ends of its prediction interval, which contains the measured value with
// probability kForecastLevel.
struct Forecast {
  double value = kUndefined;
  double low = kUndefined;
  double high = kUndefined;
};
// Forecasts effective tokens on an octave with the mean position exp(`position`) from earlier
// octaves, whose values are logarithms of effective tokens; undefined with fewer than 5 octaves.
// `most_keys`: the logarithm of the head's window.
Forecast forecast_effective_tokens(std::span<const Octave> octaves, double position,
                                   double most_keys = std::numeric_limits<double>::infinity());

// Returns the indices of the lengths that serve as octaves: the longest and then, backwards, each
// length that is at most 1/1.5 of the one chosen before.
std::vector<Index> octave_lengths(std::span<const double> lengths);

// Returns whether the interval forecast from all octaves but the last contains the last one's
// value; nothing if there are too few octaves.
std::optional<bool> forecast_holds(std::span<const Octave> octaves,
                                   double most_keys = std::numeric_limits<double>::infinity());

// Makes the measure. For a causal source (`causal`) it derives everything from position bins. For
// others it measures one pass and keeps what derive_over_lengths() needs.
std::unique_ptr<Measure> make_dispersion_measure(bool causal, bool beyond_sinks);

// Derives slopes and forecasts for a bidirectional source, where each length of the results is a
// pass of its own and serves as an octave. Dims between head and length are kept. Does nothing if
// the group dispersion was not measured. Returns the names of the added metrics.
std::vector<std::string> derive_over_lengths(Results& results);

}  // namespace headgauge
