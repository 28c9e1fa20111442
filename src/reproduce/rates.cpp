#include "reproduce/rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "convergence/horizon.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/metric_names.hpp"
#include "reproduce/judgement.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {

Verdict Rates::verdict(double share) const {
  if (slower > 0) return Verdict::does_not_hold;
  return fast_enough >= share * fitted ? Verdict::holds : Verdict::cannot_tell;
}

double freedom_of_fit(const LabelledArray& metric, std::size_t offset, double parameters) {
  const double left =
      metric.rows.empty() ? 0 : static_cast<double>(metric.rows[offset]) - parameters;
  return left > 0 ? left : kKnownError;
}

Rates rates_of(const Results& results, const std::string& experiment, const std::string& kind,
               double margin, double proxy) {
  Rates rates{.margin = margin};
  const LabelledArray* fitted =
      results.metric(experiment_metric(experiment, fmt::format("rate_{}", kind)));
  const LabelledArray* predicted =
      results.metric(experiment_metric(experiment, metric::rate_predicted));
  if (fitted == nullptr || predicted == nullptr) return rates;
  std::vector<double> p_of_slower;
  for (std::size_t i = 0; i < fitted->values.size(); ++i) {
    const Estimate cell = fitted->at_offset(i);
    const double prediction =
        proxy == 1
            ? predicted->values[i]
            : predicted_rate(proxy * results.at(experiment_metric(experiment, metric::horizon),
                                                {static_cast<Index>(i)}));
    if (std::isnan(cell.value) || !(cell.standard_error > 0) || std::isnan(prediction)) continue;
    const MeanWithError rate{cell.value, cell.standard_error, freedom_of_fit(*fitted, i, 2)};
    ++rates.fitted;
    if (t_test(rate, prediction - margin, Tail::above).p < kRateLevel) ++rates.fast_enough;
    p_of_slower.push_back(t_test(rate, prediction, Tail::below).p);
    rates.least_margin =
        std::fmin(rates.least_margin, (rate.value - prediction) / rate.standard_error);
    rates.slowest = std::fmin(rates.slowest, rate.value);
    rates.fastest = std::fmax(rates.fastest, rate.value);
  }
  rates.slower = static_cast<int>(std::ranges::count_if(adjusted_p_values(p_of_slower),
                                                        [](double p) { return p < kFamilyLevel; }));
  return rates;
}

std::string said_of(const Rates& rates, const std::string& kind) {
  return fmt::format(
      "The {} is slower at {} of {} and shown to be at most {:g} slower at {}; rates go from "
      "{:.3f} to "
      "{:.3f}, and rate minus prediction is at least {:+.1f} standard errors",
      kind, rates.slower, rates.fitted, rates.margin, rates.fast_enough, rates.slowest,
      rates.fastest, rates.least_margin);
}

void add_facts(const Rates& rates, const std::string& kind, Claim& claim) {
  const auto add = [&](const char* name, double value) {
    claim.facts.push_back({fmt::format("{}_{}", kind, name), value});
  };
  add("fitted", rates.fitted);
  add("slower", rates.slower);
  add("fast_enough", rates.fast_enough);
  add("least_margin", rates.least_margin);
  add("rate_slowest", rates.slowest);
  add("rate_fastest", rates.fastest);
}

bool judge_both(const Rates& mean, const Rates& covariance, int fewest, double share,
                std::string_view what, Claim& claim) {
  if (std::min(mean.fitted, covariance.fitted) < fewest) {
    claim =
        not_tested(fmt::format("{} and {} {} have a rate.", mean.fitted, covariance.fitted, what));
    return false;
  }
  const Verdict a = mean.verdict(share), b = covariance.verdict(share);
  claim.verdict = a == Verdict::holds || b == Verdict::does_not_hold ? b : a;
  claim.measured = fmt::format("{}. {}.", said_of(mean, "mean"), said_of(covariance, "covariance"));
  add_facts(mean, "mean", claim);
  add_facts(covariance, "covariance", claim);
  return true;
}

std::string not_measured(const std::string& experiment) {
  return experiment == "model"
             ? "There are no rates of a model: give TokensOptions::model (a dump needs values)."
             : fmt::format("There is no experiment on {} tokens.", experiment);
}

}  // namespace headgauge
