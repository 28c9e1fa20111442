#include "measures/dispersion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "measures/coordinates.hpp"

namespace headgauge {
namespace {

// The values that are followed along octaves of position. Rows without weight lack the first five;
// rows whose weights are all 0 or negative lack the last three.
enum OctaveValue {
  kPosition,
  kLogKeys,
  kKeys,
  kEntropy,
  kEffective,
  kLogMax,
  kLogKeysOfMax,
  kPositionOfMax,
};
constexpr std::array kOctaveMetrics = {
    metric::octave_position,
    metric::octave_log_keys,
    metric::octave_keys,
    metric::octave_entropy,
    metric::octave_effective_tokens,
    metric::octave_log_max_weight,
    metric::octave_log_keys_of_max_weight,
    metric::octave_position_of_max_weight,
};
using OctaveHandles = std::array<MetricHandle, kOctaveMetrics.size()>;

constexpr std::size_t kSlopeOctaves = 4;
constexpr std::size_t kFewestOctaves = 3;
constexpr std::array kForecasts = {2, 4, 8};  // times the longest length
constexpr double kReliable = 0.8;

// Returns the mean over the rows of an octave.
double octave_mean(const LayerStatistics& layer, MetricHandle metric, Index head,
                   const OctaveBins& bins) {
  double sum = 0, rows = 0;
  for (Index bin = bins.first; bin < bins.last; ++bin) {
    const Estimate cell = layer.at_position(metric, head, bin, 0);
    if (cell.rows == 0) continue;
    sum += cell.value * static_cast<double>(cell.rows);
    rows += static_cast<double>(cell.rows);
  }
  return sum / rows;  // NaN without rows
}

double unchanged(double mean) {
  return mean;
}
double logarithm(double mean) {
  return std::log(mean);
}

// A value along the octaves: the metrics to average over the same rows, and the transformation of
// their means.
struct Along {
  OctaveValue position;
  OctaveValue keys;
  OctaveValue value;
  double (*transform)(double);
};
constexpr Along kAlongEntropy{kPosition, kLogKeys, kEntropy, unchanged};
constexpr Along kAlongMax{kPositionOfMax, kLogKeysOfMax, kLogMax, unchanged};
constexpr Along kAlongEffective{kPosition, kKeys, kEffective, logarithm};

std::vector<Octave> octaves_of(const LayerStatistics& layer, const OctaveHandles& handles,
                               Index head, std::span<const OctaveBins> bins, const Along& along) {
  std::vector<Octave> octaves;
  for (const OctaveBins& octave : bins) {
    const auto mean = [&](OctaveValue value) {
      return octave_mean(layer, handles[value], head, octave);
    };
    const Octave found{std::log(mean(along.position)), along.transform(mean(along.keys)),
                       along.transform(mean(along.value))};
    if (std::isfinite(found.value)) octaves.push_back(found);  // undefined without rows
  }
  return octaves;
}

double or_infinite(const std::optional<Index>& length) {
  return length ? static_cast<double>(*length) : std::numeric_limits<double>::infinity();
}

// Returns the number of octaves that end within the layer's window, if it has one: only there does
// a row see more keys than those before. `end` returns the last position of an octave.
template <class Octaves, class End>
std::size_t growing(const Results& results, Index layer_index, const Octaves& octaves,
                    const End& end) {
  const double window = window_of_layer(results, layer_index);
  return static_cast<std::size_t>(std::ranges::count_if(
      octaves, [&](const auto& octave) { return window == 0 || end(octave) <= window; }));
}

// The results for one head along its octaves.
struct Followed {
  std::vector<Octave> entropy, largest, effective;
};

// The metrics derived from octaves, with a cell for each head and, in a comparison, each
// intervention.
class TrendMetrics {
 public:
  TrendMetrics(Results& results, std::vector<std::string> dims, double longest)
      : results_(results), longest_(longest) {
    const double positions = or_infinite(results.model.positions);
    for (const int factor : kForecasts) {
      lengths_.push_back(factor * longest);
      if (lengths_.back() <= positions) ++within_;
    }
    results.set_coord("forecast_length", lengths_);
    std::vector<std::string> interventions(dims.begin() + 2, dims.end());
    entropy_ = &add(metric::entropy_slope_with_sinks, dims, "1");
    largest_ = &add(metric::max_weight_slope_with_sinks, dims, "1");
    dims.emplace_back("forecast_length");
    forecasts_ = &results.add_metric(metric::effective_tokens_forecast_with_sinks, dims, "keys");
    forecasts_->with_intervals();
    coverage_ = &results.add_metric(metric::forecast_coverage, std::move(interventions), "1");
    judged_.resize(coverage_->values.size());
    held_.resize(judged_.size());
  }

  const std::vector<double>& forecast_lengths() const { return lengths_; }

  // `positions` are logarithms of the forecast positions. `cell` is a layer, a head and, in a
  // comparison, an intervention.
  void put(std::vector<Index> cell, const Followed& head, std::span<const double> positions) {
    put_slope(head.entropy, cell, *entropy_);
    put_slope(head.largest, cell, *largest_);
    const double window = window_of_layer(results_, cell.front());
    const double most = window > 0 ? std::log(window) : std::numeric_limits<double>::infinity();
    const std::optional<bool> holds = forecast_holds(head.effective, most);
    if (!holds) return;
    const Index intervention = cell.size() > 2 ? cell[2] : 0;
    ++judged_[intervention];
    held_[intervention] += *holds;
    cell.push_back(0);
    for (const double position : positions.first(within_)) {
      const Forecast forecast = forecast_effective_tokens(head.effective, position, most);
      forecasts_->set(cell, {.value = forecast.value, .low = forecast.low, .high = forecast.high});
      ++cell.back();
    }
  }

  // `fitted` and `measured` are the ends of the last octave but one and of the last. `labels` name
  // the interventions, the original first.
  void finish(double fitted, double measured, std::span<const std::string> labels) {
    say_what_was_not_learnt();
    for (std::size_t intervention = 0; intervention < judged_.size(); ++intervention) {
      if (judged_[intervention] == 0) continue;
      const double share =
          static_cast<double>(held_[intervention]) / static_cast<double>(judged_[intervention]);
      coverage_->values[intervention] = share;
      if (share >= kReliable || within_ == 0) continue;
      results_.notices.push_back(
          fmt::format("{}effective_tokens_forecast_with_sinks is unreliable here: fitted up to "
                      "position {:.0f}, its 95 % "
                      "intervals contain the values measured up to {:.0f} for only {} of {} heads",
                      intervention == 0 ? "" : labels[intervention] + ": ", fitted, measured,
                      held_[intervention], judged_[intervention]));
    }
  }

 private:
  LabelledArray& add(const char* name, std::vector<std::string> dims, const char* unit) {
    LabelledArray& metric = results_.add_metric(name, std::move(dims), unit);
    metric.with_standard_errors();
    return metric;
  }

  // Adds a notice if a model that accepts any position is forecast beyond its training positions.
  void say_what_was_not_learnt() {
    const double trained = or_infinite(results_.model.trained_length);
    const auto beyond = std::ranges::find_if(lengths_, [&](double f) { return f > trained; });
    if (beyond == lengths_.end() || std::ranges::all_of(judged_, [](auto n) { return n == 0; }))
      return;
    results_.notices.push_back(fmt::format(
        "the model was trained on contexts of {:.0f} tokens: effective_tokens_forecast_with_sinks "
        "at {:.0f} "
        "extrapolates the trend of its heads up to {:.0f}; it was not trained at these positions",
        trained, fmt::join(std::span(beyond, lengths_.end()), ", "), longest_));
  }

  static void put_slope(std::span<const Octave> octaves, std::span<const Index> cell,
                        LabelledArray& metric) {
    if (octaves.size() < kFewestOctaves) return;
    const Trend trend = fit_trend(octaves.last(std::min(kSlopeOctaves, octaves.size())));
    if (std::isnan(trend.standard_error)) return;
    metric.set(cell, {trend.slope, trend.standard_error, 0, trend.degrees_of_freedom});
  }

  Results& results_;
  double longest_;
  std::vector<double> lengths_;
  std::size_t within_ = 0;  // number of positions that the model has
  LabelledArray *entropy_, *largest_, *forecasts_, *coverage_;
  std::vector<std::size_t> judged_, held_;  // per intervention
};

class DispersionMeasure final : public Measure {
 public:
  DispersionMeasure(bool causal, bool beyond_sinks)
      : causal_(causal), beyond_sinks_(beyond_sinks) {}

  void declare(MetricRegistry& metrics) override {
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      MetricInfo metric = metric_info(kOctaveMetrics[i]);
      if (!causal_) {
        metric.kind = MetricKind::passed_on;
        metric.by_position = false;
      }
      handles_[i] = metrics.add(metric);
    }
    for (const char* derived :
         {metric::entropy_slope_with_sinks, metric::max_weight_slope_with_sinks,
          metric::effective_tokens_forecast_with_sinks, metric::forecast_coverage}) {
      metrics.add(derived);
    }
  }

  MeasureNeeds needs() const override {
    return {.keys = beyond_sinks_ ? MeasureNeeds::Keys::beyond_sinks : MeasureNeeds::Keys::all};
  }

  void observe(const RowBlock& block, int /*slot*/, RowSink& sink) override {
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      const auto position = static_cast<double>(row.query + 1), n = static_cast<double>(row.n());
      if (row.sums.abs_mass > 0) {
        sink.set(r, handles_[kPosition], position);
        sink.set(r, handles_[kLogKeys], std::log(n));
        sink.set(r, handles_[kKeys], n);
        sink.set(r, handles_[kEntropy], row.sums.entropy);
        sink.set(r, handles_[kEffective], std::exp(row.sums.entropy));
      }
      if (row.sums.max > 0) {
        sink.set(r, handles_[kLogMax], std::log(row.sums.max));
        sink.set(r, handles_[kLogKeysOfMax], std::log(n));
        sink.set(r, handles_[kPositionOfMax], position);
      }
    }
  }

  void derive(std::span<const LayerStatistics* const> layers, Results& results) override {
    if (!causal_) return;
    const auto edges = results.coord_numbers("position");
    const std::vector<OctaveBins> bins = octave_bins(edges);
    const std::vector<int> heads = coordinate_numbers(results, "head");
    TrendMetrics metrics(results, {"layer", "head"}, edges.back());
    std::vector<double> positions;  // mean position of the rows F/2 < t <= F
    for (const double f : metrics.forecast_lengths())
      positions.push_back(std::log((1.5 * f + 1) / 2));
    for (Index l = 0; l < std::ssize(layers); ++l) {
      const std::size_t grow = growing(
          results, l, bins, [&](const OctaveBins& octave) { return edges[octave.last - 1]; });
      for (Index h = 0; h < std::ssize(heads); ++h) {
        const auto along = [&](const Along& what, std::span<const OctaveBins> octaves) {
          return octaves_of(*layers[l], handles_, heads[h], octaves, what);
        };
        const auto slopes = std::span(bins).first(grow);
        metrics.put(
            {l, h},
            {along(kAlongEntropy, slopes), along(kAlongMax, slopes), along(kAlongEffective, bins)},
            positions);
      }
    }
    if (bins.empty()) return;
    metrics.finish(edges[bins.back().first - 1], edges.back(), {});
  }

 private:
  bool causal_, beyond_sinks_;
  OctaveHandles handles_;
};

// Returns a cell's values at the lengths that serve as octaves.
std::vector<Octave> over_lengths(const Results& results, std::vector<Index> cell,
                                 std::span<const Index> taken, const Along& along) {
  const auto lengths = results.coord_numbers("length");
  std::vector<Octave> octaves;
  cell.push_back(0);
  for (const Index l : taken) {
    cell.back() = l;
    const auto of = [&](OctaveValue value) {
      return results.require_metric(kOctaveMetrics[value]).at(cell).value;
    };
    const Octave octave{std::log(lengths[l]), along.transform(of(along.keys)),
                        along.transform(of(along.value))};
    if (std::isfinite(octave.value)) octaves.push_back(octave);
  }
  return octaves;
}

}  // namespace

std::vector<std::string> derive_over_lengths(Results& results) {
  const LabelledArray* keys = results.metric(kOctaveMetrics[kKeys]);
  if (keys == nullptr) return {};
  const std::size_t measured = results.metrics.size();
  std::vector<std::string> dims = keys->dim_names();
  dims.pop_back();
  const auto lengths = results.coord_numbers("length");
  const std::vector<Index> taken = octave_lengths(lengths);
  TrendMetrics metrics(results, dims, lengths.back());
  std::vector<double> positions;
  for (const double f : metrics.forecast_lengths()) positions.push_back(std::log(f));
  keys->isel("length", 0).each([&](std::span<const Index> at, std::size_t) {
    const std::vector<Index> cell(at.begin(), at.end());
    const auto along = [&](const Along& what, std::span<const Index> octaves) {
      return over_lengths(results, cell, octaves, what);
    };
    const auto slopes = std::span(taken).first(
        growing(results, cell.front(), taken, [&](Index octave) { return lengths[octave]; }));
    metrics.put(
        cell,
        {along(kAlongEntropy, slopes), along(kAlongMax, slopes), along(kAlongEffective, taken)},
        positions);
  });
  if (taken.size() > 1) {
    std::vector<std::string> labels;
    if (dims.size() > 2) {
      const auto names = results.coord_names(dims[2]);
      labels.assign(names.begin(), names.end());
    }
    metrics.finish(lengths[taken[taken.size() - 2]], lengths.back(), labels);
  }
  std::vector<std::string> derived;
  for (std::size_t k = measured; k < results.metrics.size(); ++k) {
    derived.push_back(results.metrics[k].first);
  }
  const auto of_octaves = [](const std::string& name) {
    return std::ranges::find(kOctaveMetrics, name) != kOctaveMetrics.end();
  };
  std::erase_if(results.metrics, [&](const auto& entry) {
    return of_octaves(entry.first) || of_octaves(entry.second.change_of);
  });
  return derived;
}

std::unique_ptr<Measure> make_dispersion_measure(bool causal, bool beyond_sinks) {
  return std::make_unique<DispersionMeasure>(causal, beyond_sinks);
}

}  // namespace headgauge
