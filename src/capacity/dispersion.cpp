#include "capacity/dispersion.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "capacity/coordinates.hpp"

namespace headgauge {
namespace {

// Cells in the order of metrics(). Rows without weight have none of the first five, rows whose
// weights are all 0 or negative none of the last three.
constexpr const char* kPosition = "octave_position";
constexpr const char* kLogKeys = "octave_log_keys";
constexpr const char* kKeys = "octave_keys";
constexpr const char* kEntropy = "octave_entropy";
constexpr const char* kEffective = "octave_effective_tokens";
constexpr const char* kLogMax = "octave_log_max_weight";
constexpr const char* kLogKeysOfMax = "octave_log_keys_of_max_weight";
constexpr const char* kPositionOfMax = "octave_position_of_max_weight";

constexpr std::size_t kSlopeOctaves = 4;
constexpr std::size_t kFewestOctaves = 3;
constexpr std::array kForecasts = {2, 4, 8};  // times the longest length
constexpr double kReliable = 0.8;

const std::vector<MetricInfo>& dispersion_metrics() {
  static const std::vector<MetricInfo> all = [] {
    std::vector<MetricInfo> metrics;
    for (const char* name : {kPosition, kLogKeys, kKeys, kEntropy, kEffective, kLogMax,
                             kLogKeysOfMax, kPositionOfMax}) {
      MetricInfo info;
      info.name = name;
      info.group = "capacity";
      info.kind = MetricKind::hidden;
      info.unit = std::string("1");
      info.by_position = true;
      metrics.push_back(std::move(info));
    }
    const auto derived = [&](std::string name, std::vector<std::string> dims, std::string unit,
                             std::string formula, std::string source, std::string meaning) {
      MetricInfo info;
      info.name = std::move(name);
      info.group = "capacity";
      info.kind = MetricKind::derived;
      info.dims = std::move(dims);
      info.unit = std::move(unit);
      info.formula = std::move(formula);
      info.source = std::move(source);
      info.meaning = std::move(meaning);
      metrics.push_back(std::move(info));
    };
    derived("entropy_slope", {"layer", "head"}, "1",
            "drift of the entropy per unit of log n, over the last four octaves of position",
            "docs/mathematics.md G6, 7b",
            "1: it spreads over all new keys (disperses); 0: it keeps selecting");
    derived("max_weight_slope", {"layer", "head"}, "1",
            "drift of log max_j a_j per unit of log n, over the last four octaves of position",
            "docs/mathematics.md G6, 7b",
            "-1: the largest weight falls as 1/n; 0: it keeps its size");
    derived(
        "effective_tokens_forecast", {"layer", "head", "forecast_length"}, "keys",
        "e^y, y = log effective_tokens of the last octave + drift per octave; rows F/2 < t <= F",
        "docs/mathematics.md 7b",
        "effective tokens of the last half of a longer text; see forecast_coverage");
    derived("forecast_coverage", {}, "1",
            "share of heads whose forecast from all octaves but the last one holds there, within 2 "
            "standard errors",
            "docs/mathematics.md 7b", "below 0.8 the forecasts are unreliable");
    return metrics;
  }();
  return all;
}

using Statistics = const LayerStatistics&;

// The mean over the rows of an octave.
double octave_mean(Statistics layer, const char* metric, Index head, const OctaveBins& bins) {
  double sum = 0, rows = 0;
  for (Index bin = bins.first; bin < bins.last; ++bin) {
    const CellStatistics cell = layer.at_position(metric, head, bin, 0);
    if (cell.rows == 0) continue;
    sum += cell.mean * static_cast<double>(cell.rows);
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

// A value along the octaves: hidden metrics over the same rows, and what is done to their means.
struct Along {
  const char* position;
  const char* keys;
  const char* value;
  double (*transform)(double);
};
constexpr Along kAlongEntropy{kPosition, kLogKeys, kEntropy, unchanged};
constexpr Along kAlongMax{kPositionOfMax, kLogKeysOfMax, kLogMax, unchanged};
constexpr Along kAlongEffective{kPosition, kKeys, kEffective, logarithm};

std::vector<Octave> octaves_of(Statistics layer, Index head, std::span<const OctaveBins> bins,
                               const Along& along) {
  std::vector<Octave> octaves;
  for (const OctaveBins& octave : bins) {
    const Octave found{std::log(octave_mean(layer, along.position, head, octave)),
                       along.transform(octave_mean(layer, along.keys, head, octave)),
                       along.transform(octave_mean(layer, along.value, head, octave))};
    if (!std::isnan(found.value)) octaves.push_back(found);  // undefined without rows
  }
  return octaves;
}

class DispersionMeasure final : public Measure {
 public:
  const std::vector<MetricInfo>& metrics() const override { return dispersion_metrics(); }
  MeasureNeeds needs() const override { return {}; }
  Index dim_size(std::string_view) const override { return 1; }

  void observe(const RowBlock& block, int, RowSink& sink) override {
    for (Index r = 0; r < static_cast<Index>(block.rows.size()); ++r) {
      const Row& row = block.rows[static_cast<std::size_t>(r)];
      const auto n = static_cast<double>(row.n());
      if (row.sums.abs_mass > 0) {
        sink.set(r, 0, static_cast<double>(row.query + 1));
        sink.set(r, 1, std::log(n));
        sink.set(r, 2, n);
        sink.set(r, 3, row.sums.entropy);
        sink.set(r, 4, std::exp(row.sums.entropy));
      }
      if (row.sums.max > 0) {
        sink.set(r, 5, std::log(static_cast<double>(row.sums.max)));
        sink.set(r, 6, std::log(n));
        sink.set(r, 7, static_cast<double>(row.query + 1));
      }
    }
  }

  void derive(std::span<const LayerStatistics* const> layers, Results& results) override {
    const std::vector<OctaveBins> bins = octave_bins(results.coord_numbers("position"));
    const std::vector<int> heads = coordinate_numbers(results, "head");
    const double longest = results.coord_numbers("position").back();
    std::vector<double> lengths;
    for (const int factor : kForecasts) lengths.push_back(factor * longest);
    results.set_coord("forecast_length", lengths);

    MetricArray& entropy = add(results, "entropy_slope", {"layer", "head"}, "1");
    MetricArray& largest = add(results, "max_weight_slope", {"layer", "head"}, "1");
    MetricArray& forecasts =
        add(results, "effective_tokens_forecast", {"layer", "head", "forecast_length"}, "keys");
    std::size_t judged = 0, held = 0;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      for (std::size_t h = 0; h < heads.size(); ++h) {
        const std::size_t cell = l * heads.size() + h;
        const auto along = [&](const Along& what) {
          return octaves_of(*layers[l], heads[h], bins, what);
        };
        put_slope(along(kAlongEntropy), cell, entropy);
        put_slope(along(kAlongMax), cell, largest);
        const std::vector<Octave> octaves = along(kAlongEffective);
        const std::optional<bool> holds = forecast_holds(octaves);
        if (!holds) continue;
        ++judged;
        held += *holds;
        for (std::size_t f = 0; f < lengths.size(); ++f) {
          // The mean position of the rows F/2 < t <= F.
          const double position = std::log((1.5 * lengths[f] + 1) / 2);
          const Forecast forecast = forecast_effective_tokens(octaves, position);
          forecasts.values[cell * lengths.size() + f] = forecast.value;
          forecasts.stderr_[cell * lengths.size() + f] = forecast.standard_error;
        }
      }
    }
    MetricArray& coverage = results.add_metric("forecast_coverage", {}, "1");
    if (judged == 0) return;
    coverage.values[0] = static_cast<double>(held) / static_cast<double>(judged);
    if (coverage.values[0] >= kReliable) return;
    const double fitted =
        results.coord_numbers("position")[static_cast<std::size_t>(bins.back().first - 1)];
    results.notices.push_back(fmt::format(
        "effective_tokens_forecast is unreliable here: fitted up to position {:.0f}, its error "
        "bars hold what was measured up to {:.0f} for only {} of {} heads",
        fitted, longest, held, judged));
  }

 private:
  static MetricArray& add(Results& results, const char* name, std::vector<std::string> dims,
                          const char* unit) {
    MetricArray& metric = results.add_metric(name, std::move(dims), unit);
    metric.stderr_.assign(metric.values.size(), kUndefined);
    return metric;
  }

  static void put_slope(std::span<const Octave> octaves, std::size_t cell, MetricArray& metric) {
    if (octaves.size() < kFewestOctaves) return;
    const Trend trend = fit_trend(octaves.last(std::min(kSlopeOctaves, octaves.size())));
    if (std::isnan(trend.standard_error)) return;
    metric.values[cell] = trend.slope;
    metric.stderr_[cell] = trend.standard_error;
  }
};

}  // namespace

std::unique_ptr<Measure> make_dispersion_measure() {
  return std::make_unique<DispersionMeasure>();
}

}  // namespace headgauge
