// Paper A's claims on vanishing weights, on heads that complement each other, and on heads at
// temperatures other than their own (docs/reproduce.md).
#include <algorithm>
#include <array>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"

namespace headgauge {
namespace {

constexpr double kFalling = -1e-6;  // an exponent below this is negative beyond rounding
constexpr double kMiddleN = 20;
constexpr double kRoundingOfLogs = 1e-4;  // of logarithms of weights in single precision

constexpr double kLow = 0.1;  // the paper's limit
constexpr double kHigh = 10;

// Returns an estimate for every head; nothing if the temperature was not measured.
std::vector<Estimate> at_temperature(const Evidence& found, const char* metric,
                                     double temperature) {
  const auto t = find_label(found.results, "judged_temperature", temperature);
  return t ? found.estimates(metric, {{"judged_temperature", *t}}) : std::vector<Estimate>();
}

std::vector<double> known(const Evidence& found, const char* metric, double temperature) {
  return finite_values(values_of(at_temperature(found, metric, temperature)));
}

}  // namespace

void weights_are_bounded(Evidence& found) {
  std::vector<double> uses;
  for (Index l = 0; l < std::ssize(found.numbers("length")); ++l) {
    const auto at = finite_values(found.of_heads(metric::weight_bound_use, {{"length", l}}));
    uses.insert(uses.end(), at.begin(), at.end());
  }
  found.need(!uses.empty(), "weights");
  found.describe("use", uses);
  const auto [least, most] = std::ranges::minmax(uses);
  const bool within = least >= -kRoundingOfLogs && most <= 1 + kRoundingOfLogs;
  found.verdict = verdict_if(within, !within);
}

void weights_vanish(Evidence& found) {
  const double high = -1 / (1 + found.threshold("tolerance"));
  const auto exponents =
      judge_powers(found, metric::max_weight_with_sinks, {"top_n", 0}, 1 / high, high);
  found.set("falling", std::ranges::count_if(exponents, [](const Estimate& exponent) {
              return place_of(exponent, -HUGE_VAL, kFalling) == Place::inside;
            }));
}

void coverage_is_independent(Evidence& found) {
  const auto sizes = found.numbers("top_n");
  const Index n =
      std::ranges::find_if(sizes, [](double size) { return size > kMiddleN; }) - sizes.begin() - 1;
  const Index layers = n < 0 ? 0 : std::ssize(found.numbers("layer"));
  const double margin = found.threshold("tolerance");
  HeadVotes votes;
  std::vector<double> measured, printed, apart;
  for (Index layer = 0; layer < layers; ++layer) {
    const auto at = [&](const char* metric) {
      return find_cell(found.results, metric, {{"layer", layer}, {"top_n", n}});
    };
    const auto own = at(metric::union_coverage), paper = at(metric::union_coverage_paper);
    if (!own || !paper) continue;
    measured.push_back(own->value);
    printed.push_back(paper->value);
    if (const auto cell = at(metric::union_coverage_independent)) apart.push_back(cell->value);
    votes.add(place_of(t_interval(mean_of(*own)), paper->value - margin, paper->value + margin));
  }
  found.set({{"layers", votes.all()}, {"fewest", kFewestVotes}});
  found.need(votes.all() >= kFewestVotes, "coverage");
  found.verdict = votes.verdict(found.threshold("layers"));
  name_votes(found, votes);
  found.set({{"n", sizes[n]},
             {"coverage", median(measured)},
             {"formula", median(printed)},
             {"independent", median(apart)}});
}

void queries_select_independently(Evidence& found) {
  const auto n = find_label(found.results, "top_n", kMiddleN);
  const auto at = [&](const char* metric) {
    return n ? found.of_heads(metric, {{"top_n", *n}}) : std::vector<double>();
  };
  const auto own = at(metric::query_overlap), random = at(metric::query_overlap_random);
  const auto differences = less(own, random);
  found.need(finite_values(differences).size() >= kFewestOfMedian, "sets");
  judge_median(found, differences, -found.threshold("overlap"), found.threshold("overlap"));
  found.set({{"own", median_of(own)},
             {"random", median_of(random)},
             {"distinct",
              median_of(over(at(metric::query_distinct), at(metric::query_distinct_random)))}});
}

void norm_follows_temperature(Evidence& found) {
  std::vector<double> temperature, largest, middle;
  for (const double t : found.numbers("judged_temperature")) {
    const auto norms = known(found, metric::norm_at_temperature, t);
    if (t > kLow || norms.empty()) continue;
    temperature.push_back(t);
    largest.push_back(std::ranges::max(norms));
    middle.push_back(median(norms));
  }
  const auto power = power_of(temperature, largest), of_median = power_of(temperature, middle);
  found.need(power && of_median, "temperatures");
  const double tolerance = found.threshold("tolerance");
  judge_estimate(found, *power, -1 - tolerance, -1 + tolerance);
  found.set({{"coldest", temperature.front()},
             {"warmest", temperature.back()},
             {"first", largest.front()},
             {"last", largest.back()},
             {"exponent_median", of_median->value},
             {"share_of_quarter", largest.back() * 4 * temperature.back()}});
}

void cold_inflates_the_spread(Evidence& found) {
  const auto cold = at_temperature(found, metric::norm_at_temperature, kLow);
  const auto as_is = at_temperature(found, metric::norm_at_temperature, 1);
  const auto ratios = finite_values(over(values_of(cold, &Estimate::standard_error),
                                         values_of(as_is, &Estimate::standard_error)));
  found.set({{"heads", ratios.size()}, {"fewest", kFewestOfMedian}});
  found.need(ratios.size() >= kFewestOfMedian, cold.empty() ? "few_temperatures" : "few_errors");
  judge_median(found, ratios, 1, HUGE_VAL);
}

void heat_loses_selectivity(Evidence& found) {
  const auto hot = known(found, metric::entropy_at_temperature, kHigh);
  const auto as_is = known(found, metric::entropy_at_temperature, 1);
  found.need(hot.size() >= kFewestOfMedian && !as_is.empty(), "temperatures");
  judge_median(found, hot, 1 - found.threshold("lack"), HUGE_VAL);
  found.set("entropy_as_is", median(as_is));
}

void cold_raises_the_norm_alone(Evidence& found) {
  const auto n = judged_top_n(found.results);
  const auto norms = [&](double temperature) {
    return values_of(at_temperature(found, metric::norm_at_temperature, temperature));
  };
  std::array all = {
      norms(1), norms(kLow),
      n ? found.of_heads(metric::separability_excess, {{"top_n", *n}}) : std::vector<double>(),
      found.of_heads(metric::cold_separability, {})};
  // Only heads that have all four values.
  std::array<std::vector<double>, 4> known;
  for (std::size_t h = 0; h < std::ranges::min(all, {}, &std::vector<double>::size).size(); ++h) {
    const auto has = [&](const std::vector<double>& of) { return !std::isnan(of[h]); };
    if (!std::ranges::all_of(all, has)) continue;
    for (std::size_t i = 0; i < all.size(); ++i) known[i].push_back(all[i][h]);
  }
  const auto& [norm, cold_norm, value, cold_value] = known;
  found.need(norm.size() >= kFewestOfMedian, "temperatures");
  const Interval of_norm = t_interval(mean_with_error(paired_differences(cold_norm, norm)));
  const Interval of_value = t_interval(mean_with_error(paired_differences(cold_value, value)));
  const double gain = found.threshold("gain");
  found.verdict =
      verdict_if(of_norm.low > 0 && of_value.high < gain, of_norm.high < 0 || of_value.low > gain);
  const auto mean = [](const std::vector<double>& of) { return mean_with_error(of).value; };
  found.set({{"heads", norm.size()},
             {"change_of_separability", mean(cold_value) - mean(value)},
             {"norm", mean(norm)},
             {"norm_cold", mean(cold_norm)},
             {"separability", mean(value)},
             {"separability_cold", mean(cold_value)}});
  found.set("norm_change", of_norm);
  found.set("separability_change", of_value);
}

}  // namespace headgauge
