// The dispersion group: how a head's entropy and largest weight move with the number of keys
// (docs/mathematics.md G6), and over how many keys it will spread at longer contexts
// (docs/mathematics.md 7b).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "headgauge/measure.hpp"

namespace headgauge {

// A head on one octave of query positions.
struct Octave {
  double position = 0;  // logarithm of the mean position
  double keys = 0;      // mean logarithm of the number of keys, or logarithm of its mean
  double value = 0;     // what moves with it
};

// How a value moves along octaves: a random walk in log n whose drift is the slope
// (docs/mathematics.md 7b).
struct Trend {
  double slope = kUndefined;
  double standard_error = kUndefined;      // undefined with fewer than 2 steps
  double degrees_of_freedom = kUndefined;  // 1/q - 1
};
Trend fit_trend(std::span<const Octave> octaves);

// The neighbouring position bins [first, last) that make up one octave; `edges` are the upper ends
// of the bins. Octaves end at the longest length, span at least a factor 1.5 and begin after
// position 1.
struct OctaveBins {
  Index first = 0;
  Index last = 0;
};
std::vector<OctaveBins> octave_bins(std::span<const double> edges);

inline constexpr double kForecastLevel = 0.95;

// A forecast and the ends of its prediction interval, which holds what is measured there with
// probability kForecastLevel.
struct Forecast {
  double value = kUndefined;
  double low = kUndefined;
  double high = kUndefined;
};
// Effective tokens on an octave with the mean position exp(`position`), from octaves before it
// whose values are logarithms of effective tokens; undefined with fewer than 5.
Forecast forecast_effective_tokens(std::span<const Octave> octaves, double position);

// The lengths that take the place of octaves, as indices: the longest, and each that the one after
// it is at least 1.5 times of.
std::vector<Index> octave_lengths(std::span<const double> lengths);

// Whether the interval that is forecast from all octaves but the last one holds what was measured
// there; nothing where there are too few.
std::optional<bool> forecast_holds(std::span<const Octave> octaves);

// The measure of a source whose queries see the keys before them alone (`causal`), which derives
// everything from position bins; or else of one pass, which leaves what derive_over_lengths()
// needs.
std::unique_ptr<Measure> make_dispersion_measure(bool causal, bool beyond_sinks);

// Slopes and forecasts of a bidirectional source: each length of the results is a pass of its own,
// and takes the place of an octave of positions. Whatever dims stand between head and length stay.
// Does nothing where the group dispersion was not measured. Returns the names of what it added.
std::vector<std::string> derive_over_lengths(Results& results);

}  // namespace headgauge
