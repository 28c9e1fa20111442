// Paper A's claims on heads at temperatures other than their own (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/scan_values.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kLow = 0.1;  // the paper's limit
constexpr double kHigh = 10;
constexpr const char* kNoTemperatures =
    "The heads were not measured at several temperatures (norm_at_temperature), as one scan "
    "cannot: reproduce_limits() does.";

// Returns a cell for every measured head, undefined where the head has none; empty if the
// temperature was not measured.
std::vector<MetricCell> at_temperature(const Results& results, const char* metric,
                                       double temperature) {
  std::vector<MetricCell> cells;
  const auto t = find_label(results, "judged_temperature", temperature);
  if (!t) return cells;
  for (const HeadName& head : measured_heads(results)) {
    cells.push_back(
        find_cell(
            results, metric,
            {{"layer", head.layer_index}, {"head", head.head_index}, {"judged_temperature", *t}})
            .value_or(MetricCell()));
  }
  return cells;
}

std::vector<double> known(const std::vector<MetricCell>& cells) {
  std::vector<double> values;
  for (const MetricCell& cell : cells) values.push_back(cell.value);
  return finite_values(values);
}

}  // namespace

Claim norm_follows_temperature(const Results& results, const Thresholds& thresholds) {
  std::vector<double> temperature, largest, middle;
  for (const double t : numbers(results, "judged_temperature")) {
    const auto norms = known(at_temperature(results, metric::norm_at_temperature, t));
    if (t > kLow || norms.empty()) continue;
    temperature.push_back(t);
    largest.push_back(std::ranges::max(norms));
    middle.push_back(median(norms));
  }
  const auto power = power_of(temperature, largest), of_median = power_of(temperature, middle);
  if (!power || !of_median) return not_tested(kNoTemperatures);
  const Interval interval = t_interval(mean_of(*power));
  Claim claim;
  const double tolerance = thresholds.at("tolerance");
  claim.verdict = verdict_of(place_of(interval, -1 - tolerance, -1 + tolerance));
  const double share = largest.back() * 4 * temperature.back();
  claim.measured = fmt::format(
      "From T = {:g} to {:g} the largest norm over heads goes from {} to {}, as T^{:.2f} ({:.2f} "
      "to {:.2f}), that of the median head as T^{:.2f}. At T = {:g} the largest is {} times "
      "1/(4T).",
      temperature.front(), temperature.back(), shown(largest.front()), shown(largest.back()),
      power->value, interval.low, interval.high, of_median->value, temperature.back(),
      shown(share));
  claim.facts = {{"exponent", power->value},
                 {"low", interval.low},
                 {"high", interval.high},
                 {"exponent_median", of_median->value},
                 {"share_of_quarter", share}};
  return claim;
}

Claim cold_inflates_the_spread(const Results& results, const Thresholds&) {
  const auto cold = at_temperature(results, metric::norm_at_temperature, kLow);
  const auto as_is = at_temperature(results, metric::norm_at_temperature, 1);
  std::vector<double> ratios;
  for (std::size_t h = 0; h < std::min(cold.size(), as_is.size()); ++h) {
    ratios.push_back(cold[h].standard_error / as_is[h].standard_error);
  }
  ratios = finite_values(ratios);
  if (ratios.size() < kFewestOfMedian) {
    return not_tested(fmt::format(
        "{} heads have standard errors at T = 0.1 and 1; {} are needed. {}", ratios.size(),
        kFewestOfMedian, cold.empty() ? kNoTemperatures : "Give a longer text."));
  }
  const Interval interval = interval_of_median(ratios);
  Claim claim;
  claim.verdict = verdict_of(place_of(interval, 1, HUGE_VAL));
  claim.measured = fmt::format(
      "At T = 0.1 the standard error of the norm over a head's rows is {} times ({} to {}) that at "
      "T = 1 in the median of {} heads.",
      shown(median(ratios)), shown(interval.low), shown(interval.high), ratios.size());
  claim.facts = {{"ratio", median(ratios)}, {"low", interval.low}, {"high", interval.high}};
  return claim;
}

Claim heat_loses_selectivity(const Results& results, const Thresholds& thresholds) {
  const auto hot = known(at_temperature(results, metric::entropy_at_temperature, kHigh));
  const auto as_is = known(at_temperature(results, metric::entropy_at_temperature, 1));
  if (hot.size() < kFewestOfMedian || as_is.empty()) return not_tested(kNoTemperatures);
  const Interval interval = interval_of_median(hot);
  Claim claim;
  claim.verdict = verdict_of(place_of(interval, 1 - thresholds.at("lack"), HUGE_VAL));
  claim.measured = fmt::format(
      "The entropy of the median of {} heads is {:.3f} ({:.3f} to {:.3f}) of its maximum at T = 10 "
      "and {:.3f} at T = 1.",
      hot.size(), median(hot), interval.low, interval.high, median(as_is));
  claim.facts = {{metric::entropy_at_temperature, median(hot)},
                 {"low", interval.low},
                 {"high", interval.high},
                 {"entropy_as_is", median(as_is)}};
  return claim;
}

Claim cold_raises_the_norm_alone(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const auto n = judged_top_n(results);
  std::vector<double> norms, cold_norms, values, cold_values;
  const auto heads = measured_heads(results);
  const auto norm = at_temperature(results, metric::norm_at_temperature, 1);
  const auto cold_norm = at_temperature(results, metric::norm_at_temperature, kLow);
  for (std::size_t h = 0; h < std::min(norm.size(), cold_norm.size()); ++h) {
    const auto cold = find_cell_of_head(results, metric::cold_separability, heads[h]);
    const auto value = n ? value_at(results, metric::separability_excess, heads[h],
                                    "length", results.coord_size("length") - 1, {"top_n", *n})
                         : std::nullopt;
    if (std::isnan(norm[h].value) || std::isnan(cold_norm[h].value) || !cold || !value) continue;
    norms.push_back(norm[h].value);
    cold_norms.push_back(cold_norm[h].value);
    values.push_back(*value);
    cold_values.push_back(cold->value);
  }
  if (norms.size() < kFewestOfMedian) {
    return not_tested(
        "The heads were not measured at both T = 0.1 and T = 1 (norm_at_temperature, "
        "cold_separability), as one scan cannot: reproduce_limits() does.");
  }
  const auto change = [&](const std::vector<double>& cold, const std::vector<double>& as_is) {
    return t_interval(mean_with_error(paired_differences(cold, as_is)));
  };
  const Interval of_norm = change(cold_norms, norms), of_value = change(cold_values, values);
  claim.verdict = of_norm.low > 0 && of_value.high < thresholds.at("gain") ? Verdict::holds
                  : of_norm.high < 0 || of_value.low > thresholds.at("gain")
                      ? Verdict::does_not_hold
                      : Verdict::cannot_tell;
  const auto mean = [](const std::vector<double>& of) { return mean_with_error(of).value; };
  claim.measured = fmt::format(
      "From T = 1 to 0.1 the mean norm of {} heads goes from {} to {} (by {:+.3f} to {:+.3f}), "
      "separability above permuted weights from {:.3f} to {:.3f} (by {:+.3f} to {:+.3f}).",
      norms.size(), shown(mean(norms)), shown(mean(cold_norms)), of_norm.low, of_norm.high,
      mean(values), mean(cold_values), of_value.low, of_value.high);
  claim.facts = {{"change_of_separability", mean(cold_values) - mean(values)},
                 {"norm", mean(norms)},
                 {"norm_cold", mean(cold_norms)},
                 {"norm_change_low", of_norm.low},
                 {"norm_change_high", of_norm.high},
                 {"separability", mean(values)},
                 {"separability_cold", mean(cold_values)},
                 {"separability_with_sinks_change_low", of_value.low},
                 {"separability_with_sinks_change_high", of_value.high}};
  return claim;
}

}  // namespace headgauge
