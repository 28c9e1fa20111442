#include "reproduce/judgement.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "convergence/rate.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "statistics/bootstrap.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {

Place place_of(const Interval& interval, double low, double high) {
  if (std::isnan(interval.low) || std::isnan(interval.high)) return Place::open;
  if (interval.low >= low && interval.high <= high) return Place::inside;
  return interval.high < low || interval.low > high ? Place::outside : Place::open;
}

Place place_of(const Estimate& estimate, double low, double high) {
  return place_of(t_interval(mean_of(estimate)), low, high);
}

Verdict verdict_if(bool holds, bool does_not_hold) {
  if (holds) return Verdict::holds;
  return does_not_hold ? Verdict::does_not_hold : Verdict::cannot_tell;
}

Verdict verdict_of(Place place) {
  return verdict_if(place == Place::inside, place == Place::outside);
}

Verdict verdict_of(std::span<const Place> places) {
  if (std::ranges::count(places, Place::outside) > 0) return Verdict::does_not_hold;
  return std::ranges::count(places, Place::open) > 0 ? Verdict::cannot_tell : Verdict::holds;
}

std::optional<Estimate> power_of(std::span<const double> x, std::span<const double> y) {
  const RateFit fit = fit_rate(x, y, {}, 1);
  if (std::isnan(fit.rate)) return std::nullopt;
  return Estimate{.value = -fit.rate,
                  .standard_error = fit.standard_error,
                  .degrees_of_freedom = fit.degrees_of_freedom()};
}

Interval interval_of_median(const std::vector<double>& of_heads) {
  const auto median_of_drawn = [&](std::span<const Index> heads) {
    std::vector<double> drawn;
    for (const Index head : heads) drawn.push_back(of_heads[head]);
    return median(std::move(drawn));
  };
  return bootstrap_interval(std::ssize(of_heads), median_of_drawn,
                            {.kind = BootstrapKind::percentile});
}

void HeadVotes::add(Place place) {
  if (place == Place::inside) ++yes;
  if (place == Place::outside) ++no;
  if (place == Place::open) ++open;
}

Verdict HeadVotes::verdict(double share) const {
  if (judged() < kFewestVotes) return Verdict::cannot_tell;
  return verdict_if(yes >= share * all(), yes + open < share * all());
}

void name_votes(Evidence& found, const HeadVotes& votes) {
  found.set({{"heads", votes.all()}, {"yes", votes.yes}, {"no", votes.no}, {"open", votes.open}});
}

void judge_median(Evidence& found, const std::vector<double>& of_heads, double low, double high) {
  const std::vector<double> values = finite_values(of_heads);
  const Interval interval = interval_of_median(values);
  if (values.size() >= kFewestOfMedian) found.verdict = verdict_of(place_of(interval, low, high));
  found.set({{"value", median(values)},
             {"low", interval.low},
             {"high", interval.high},
             {"heads", values.size()}});
}

void judge_estimate(Evidence& found, const Estimate& estimate, double low, double high) {
  const Interval interval = t_interval(mean_of(estimate));
  found.verdict = verdict_of(place_of(interval, low, high));
  found.set({{"value", estimate.value}, {"low", interval.low}, {"high", interval.high}});
}

void judge_correlation(Evidence& found, const RankCorrelation& correlation) {
  found.set({{"value", correlation.value},
             {"low", correlation.low},
             {"high", correlation.high},
             {"pairs", correlation.pairs},
             {"fewest_pairs", kFewestPairs}});
  found.need(!std::isnan(correlation.low) && !std::isnan(correlation.high), "few_pairs");
  found.verdict = verdict_if(correlation.low > 0, correlation.high < found.threshold("weak"));
}

Growth growth_of(const Results& results, const std::string& metric, const HeadName& head,
                 const Pick& size) {
  constexpr double kShortestDrawn = 32;
  const bool causal = results.model.causal.value_or(true);
  const std::string along = causal ? "position" : "length";
  if (results.coord(along) == nullptr) return {};
  const auto labels = results.coord_numbers(along);
  Growth growth;
  for (Index i = 0; i < std::ssize(labels); ++i) {
    if (labels[i] < kShortestDrawn) continue;
    const auto cell =
        find_cell(results, causal ? twin_by_position(metric) : metric,
                  {{"layer", head.layer_index}, {"head", head.head_index}, {along, i}, size});
    if (!cell) continue;
    const double before = causal && i > 0 ? labels[i - 1] : 0;
    growth.context.push_back(causal ? (before + 1 + labels[i]) / 2 : labels[i]);
    growth.value.push_back(cell->value);
  }
  return growth;
}

std::vector<Estimate> judge_powers(Evidence& found, const std::string& metric, const Pick& size,
                                   double low, double high) {
  HeadVotes votes;
  std::vector<Estimate> exponents;
  std::vector<double> values;
  int below = 0, above = 0;
  for (const HeadName& head : found.heads(Heads::without_window)) {
    const Growth growth = growth_of(found.results, metric, head, size);
    const auto power = power_of(growth.context, growth.value);
    votes.add(power ? place_of(*power, low, high) : Place::open);
    if (!power) continue;
    exponents.push_back(*power);
    values.push_back(power->value);
    below += place_of(*power, low, HUGE_VAL) == Place::outside ? 1 : 0;
    above += place_of(*power, -HUGE_VAL, high) == Place::outside ? 1 : 0;
  }
  found.need(!values.empty(), "points");
  found.describe("exponent", values);
  found.set({{"below", below}, {"above", above}});
  found.verdict = votes.verdict(found.threshold("heads"));
  name_votes(found, votes);
  return exponents;
}

double freedom_of_fit(const LabelledArray& metric, std::size_t offset, double parameters) {
  const double left =
      metric.rows.empty() ? 0 : static_cast<double>(metric.rows[offset]) - parameters;
  return left > 0 ? left : kKnownError;
}

Rates compare_rates(Evidence& found, const std::string& experiment, const std::string& kind,
                    double share, double proxy) {
  const LabelledArray& rates = found.of_experiment(experiment, "rate_" + kind);
  const LabelledArray& predicted = found.of_experiment(experiment, metric::rate_predicted);
  const double margin = found.threshold("tolerance");
  int fitted = 0, fast_enough = 0;
  double least_margin = kUndefined, slowest = kUndefined, fastest = kUndefined;
  std::vector<double> p_of_slower;
  for (std::size_t i = 0; i < rates.values.size(); ++i) {
    const Estimate cell = rates.at_offset(i);
    const double prediction =
        proxy == 1 ? predicted.values[i]
                   : predicted_rate(proxy *
                                    found.results.at(experiment_metric(experiment, metric::horizon),
                                                     {static_cast<Index>(i)}));
    if (std::isnan(cell.value) || !(cell.standard_error > 0) || std::isnan(prediction)) continue;
    const MeanWithError rate{cell.value, cell.standard_error, freedom_of_fit(rates, i, 2)};
    ++fitted;
    if (t_test(rate, prediction - margin, Tail::above).p < kRateLevel) ++fast_enough;
    p_of_slower.push_back(t_test(rate, prediction, Tail::below).p);
    least_margin = std::fmin(least_margin, (rate.value - prediction) / rate.standard_error);
    slowest = std::fmin(slowest, rate.value);
    fastest = std::fmax(fastest, rate.value);
  }
  const auto slower = std::ranges::count_if(adjusted_p_values(p_of_slower),
                                            [](double p) { return p < kFamilyLevel; });
  for (const std::string& name :
       {kind, fmt::format("{}_{}{}", experiment, proxy == 1 ? "" : "proxy_", kind)}) {
    found.set({{name + "_fitted", fitted},
               {name + "_slower", slower},
               {name + "_fast_enough", fast_enough},
               {name + "_least_margin", least_margin},
               {name + "_rate_slowest", slowest},
               {name + "_rate_fastest", fastest}});
  }
  return {fitted, verdict_if(slower == 0 && fast_enough >= share * fitted, slower > 0)};
}

void judge_rates(Evidence& found, const std::string& experiment, int fewest, double share,
                 double proxy) {
  const Rates mean = compare_rates(found, experiment, "mean", share, proxy);
  const Rates covariance = compare_rates(found, experiment, "covariance", share, proxy);
  found.need(std::min(mean.fitted, covariance.fitted) >= fewest, "rates");
  const bool by_covariance =
      mean.verdict == Verdict::holds || covariance.verdict == Verdict::does_not_hold;
  found.verdict = (by_covariance ? covariance : mean).verdict;
}

}  // namespace headgauge
