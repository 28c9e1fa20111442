// Paper B's claims on random tokens (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/rates.hpp"
#include "statistics/slope.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr int kFewestScales = 4;
constexpr double kInnerBall = 1.0;  // in this ball hundreds of tokens suffice for 1/sqrt n
constexpr int kFewestBalls = 3;

Claim gaussian_rate(const Results& results, const Thresholds& thresholds, const std::string& kind) {
  Claim claim;
  if (results.metric(experiment_metric("gaussian", metric::rate_predicted)) == nullptr) {
    return not_tested(not_measured("gaussian"));
  }
  const Rates rates = rates_of(results, "gaussian", kind, thresholds.at("tolerance"));
  if (rates.fitted < kFewestScales) {
    return not_tested(fmt::format("{} scales have a rate.", rates.fitted));
  }
  claim.verdict = rates.verdict(1);
  claim.measured = said_of(rates, kind) + ".";
  add_facts(rates, kind, claim);
  return claim;
}

}  // namespace

Claim gaussian_mean_rate(const Results& results, const Thresholds& thresholds) {
  return gaussian_rate(results, thresholds, "mean");
}

Claim gaussian_covariance_rate(const Results& results, const Thresholds& thresholds) {
  return gaussian_rate(results, thresholds, "covariance");
}

Claim horizon_slows_down(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const LabelledArray* horizon = results.metric(experiment_metric("gaussian", metric::horizon));
  const LabelledArray* mean = results.metric(experiment_metric("gaussian", metric::rate_mean));
  const LabelledArray* covariance =
      results.metric(experiment_metric("gaussian", metric::rate_covariance));
  if (horizon == nullptr || mean == nullptr || covariance == nullptr) {
    return not_tested(not_measured("gaussian"));
  }
  const auto [low, high] = std::ranges::minmax_element(horizon->values);
  if (!(*low < 0.5) || !(*high > 1)) {
    return not_tested(fmt::format("Horizons go from {} to {}.", shown(*low), shown(*high)));
  }
  const auto first = static_cast<std::size_t>(low - horizon->values.begin());
  const auto last = static_cast<std::size_t>(high - horizon->values.begin());
  bool slower = true, refuted = false;
  for (const LabelledArray* rate : {mean, covariance}) {
    const auto fit_at = [&](std::size_t i) {
      const Estimate cell = rate->at_offset(i);
      return MeanWithError{cell.value, cell.standard_error, freedom_of_fit(*rate, i, 2)};
    };
    const TTest drop = welch_test(fit_at(first), fit_at(last), Tail::above);
    if (std::isnan(drop.p)) {
      return not_tested("A rate at an end of the sweep has no standard error.");
    }
    const Interval interval = t_interval(
        {drop.difference, drop.standard_error, drop.degrees_of_freedom}, 2 * kFamilyLevel);
    slower = slower && interval.low > 0;
    refuted = refuted || interval.high < thresholds.at("drop");
  }
  claim.verdict = slower ? Verdict::holds : refuted ? Verdict::does_not_hold : Verdict::cannot_tell;
  claim.measured = fmt::format(
      "From H = {} to {} the rate of the mean goes from {:.3f} to {:.3f}, of the covariance from "
      "{:.3f} to {:.3f}.",
      shown(*low), shown(*high), mean->values[first], mean->values[last], covariance->values[first],
      covariance->values[last]);
  claim.facts = {{"horizon_first", *low},
                 {"horizon_last", *high},
                 {"mean_first", mean->values[first]},
                 {"mean_last", mean->values[last]},
                 {"covariance_first", covariance->values[first]},
                 {"covariance_last", covariance->values[last]}};
  return claim;
}

Claim sphere_rates(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const LabelledArray* predicted =
      results.metric(experiment_metric("sphere", metric::rate_predicted));
  if (predicted == nullptr) return not_tested(not_measured("sphere"));
  const Rates mean = rates_of(results, "sphere", "mean", thresholds.at("tolerance"));
  const Rates covariance = rates_of(results, "sphere", "covariance", thresholds.at("tolerance"));
  if (!judge_both(mean, covariance, kFewestScales, 1, "scales", claim)) return claim;
  // A prediction that demands almost nothing proves nothing when it is met.
  const double least = thresholds.at("demanding");
  const auto demanding =
      std::ranges::count_if(predicted->values, [&](double p) { return p >= least; });
  if (claim.verdict != Verdict::does_not_hold && demanding < kFewestScales) {
    claim.verdict = Verdict::not_tested;
  }
  claim.measured +=
      fmt::format(" The bound asks for a rate above {} at {} scales.", least, demanding);
  claim.facts.push_back({"demanding", static_cast<double>(demanding)});
  return claim;
}

Claim subgaussian_rates(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  Verdict verdict = Verdict::holds;
  std::string measured;
  for (const char* tokens : {"bounded", "heavy"}) {
    if (results.metric(experiment_metric(tokens, metric::rate_predicted)) == nullptr) {
      return not_tested(not_measured(tokens));
    }
    const double margin = thresholds.at("tolerance");
    const Rates mean = rates_of(results, tokens, "mean", margin);
    const Rates covariance = rates_of(results, tokens, "covariance", margin);
    if (!judge_both(mean, covariance, kFewestScales, 1, "scales", claim)) return claim;
    measured +=
        fmt::format("{}Tokens \"{}\": {}", measured.empty() ? "" : " ", tokens, claim.measured);
    if (verdict == Verdict::holds || claim.verdict == Verdict::does_not_hold) {
      verdict = claim.verdict;
    }
  }
  claim.verdict = verdict;
  claim.measured = measured;
  return claim;
}

Claim moment_constant_is_polynomial(const Results& results, const Thresholds& thresholds) {
  std::vector<double> radii, powers, constants;
  for (const char* tokens : {"bounded", "heavy", "wide"}) {
    const LabelledArray* error =
        results.metric(experiment_metric(tokens, metric::error_covariance_absolute));
    const LabelledArray* rate = results.metric(experiment_metric(tokens, metric::rate_predicted));
    if (error == nullptr || rate == nullptr) return not_tested(not_measured(tokens));
    const double n = results.coord_numbers(fmt::format("{}_tokens", tokens)).back();
    radii.push_back(std::exp2(static_cast<double>(radii.size())));
    powers.push_back(std::log(radii.back()));
    constants.push_back(std::log(error->values.back()) + rate->values.back() * std::log(n));
  }
  const auto residuals = [&](const std::vector<double>& x) {
    const double slope = least_squares_slope(x, constants);
    const double mean_x = mean_with_error(x).value, mean_y = mean_with_error(constants).value;
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += std::pow(constants[i] - mean_y - slope * (x[i] - mean_x), 2);
    }
    return sum;
  };
  const double ratio = residuals(powers) / residuals(radii);
  if (std::isnan(ratio)) return not_tested("An error is undefined.");
  Claim claim;
  claim.verdict = ratio <= thresholds.at("share") ? Verdict::holds : Verdict::cannot_tell;
  claim.measured = fmt::format(
      "C' goes from {} at R = 1 to {} at 2 and {} at 4; the squares of the residuals about a power "
      "are {} times those about an exponential.",
      shown(std::exp(constants[0])), shown(std::exp(constants[1])), shown(std::exp(constants[2])),
      shown(ratio));
  claim.facts = {{"residuals_ratio", ratio},
                 {"exponent", least_squares_slope(powers, constants)},
                 {"growth_per_radius", least_squares_slope(radii, constants)}};
  return claim;
}

Claim ball_rate(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const LabelledArray* rate = results.metric(experiment_metric("gaussian", metric::uniform_rate));
  const LabelledArray* constant =
      results.metric(experiment_metric("gaussian", metric::uniform_constant));
  if (rate == nullptr || constant == nullptr) return not_tested(not_measured("gaussian"));
  const auto radii = results.coord_numbers("gaussian_radius");
  Verdict of_rate = Verdict::cannot_tell;
  int inner = 0;
  bool all = true, outside = false;
  std::vector<double> measured_radii, log_constants;
  for (std::size_t r = 0; r < radii.size(); ++r) {
    if (constant->values[r] > 0) {
      measured_radii.push_back(radii[r]);
      log_constants.push_back(std::log(constant->values[r]));
    }
    if (radii[r] > kInnerBall || std::isnan(rate->values[r])) continue;
    ++inner;
    Estimate fitted = rate->at_offset(r);
    fitted.degrees_of_freedom = freedom_of_fit(*rate, r, 2);
    const Place place = place_of(fitted, thresholds.at("low"), thresholds.at("high"));
    all = all && place == Place::inside;
    outside = outside || place == Place::outside;
  }
  if (inner < kFewestBalls) {
    return not_tested(fmt::format("{} balls were measured, {} with a rate up to R = {:g}.",
                                  log_constants.size(), inner, kInnerBall));
  }
  if (outside || all) of_rate = outside ? Verdict::does_not_hold : Verdict::holds;
  const double growth = least_squares_slope(measured_radii, log_constants);
  claim.verdict = growth >= thresholds.at("growth") || of_rate == Verdict::does_not_hold
                      ? of_rate
                      : Verdict::cannot_tell;
  claim.measured = fmt::format(
      "The worst query's error falls as n^-{:.2f} at R = {:g}; sqrt n times it grows from {} at R "
      "= {:g} to {} at {:g}, by e^{:.2f} per unit of R.",
      rate->values.front(), radii.front(), shown(constant->values.front()), radii.front(),
      shown(constant->values.back()), radii.back(), growth);
  claim.facts = {{"growth_per_radius", growth}};
  for (std::size_t r = 0; r < radii.size(); ++r) {
    claim.facts.push_back({fmt::format("rate_{:g}", radii[r]), rate->values[r]});
    claim.facts.push_back({fmt::format("constant_{:g}", radii[r]), constant->values[r]});
  }
  return claim;
}

Claim hardmax_is_logarithmic(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const LabelledArray* error = results.metric(experiment_metric("gaussian", metric::hardmax_error));
  const LabelledArray* law =
      results.metric(experiment_metric("gaussian", metric::hardmax_error_predicted));
  if (error == nullptr || law == nullptr) return not_tested(not_measured("gaussian"));
  const auto tokens = results.coord_numbers("gaussian_tokens");
  // Every error is a mean over the same number of replicates.
  const LabelledArray* replicates =
      results.metric(experiment_metric("gaussian", metric::error_mean));
  const double freedom = replicates == nullptr ? kKnownError : freedom_of_fit(*replicates, 0, 1);
  const double margin = thresholds.at("tolerance");
  double farthest = 0;
  bool apart = false, equal = true;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Estimate cell = error->at_offset(i);
    if (!(cell.standard_error > 0)) return not_tested("An error has no standard error.");
    const MeanWithError mean{cell.value, cell.standard_error, freedom};
    const double own_law = law->values[i];
    const TTest from_law = t_test(mean, own_law);
    apart = apart || from_law.p * static_cast<double>(tokens.size()) < kFamilyLevel;
    farthest = std::max(farthest, std::abs(from_law.statistic));
    equal = equal && t_test(mean, own_law * (1 - margin), Tail::above).p < kRateLevel &&
            t_test(mean, own_law * (1 + margin), Tail::below).p < kRateLevel;
  }
  const auto power = power_of(tokens, error->values);
  if (!power) return not_tested("There are fewer than 4 numbers of tokens.");
  claim.verdict = apart || power->value < thresholds.at("slow") ? Verdict::does_not_hold
                  : equal                                       ? Verdict::holds
                                                                : Verdict::cannot_tell;
  claim.measured = fmt::format(
      "From n = {:g} to {:g} the error goes from {:.3f} to {:.3f} (n^{:.2f}), its law from {:.3f} "
      "to {:.3f}; at most {:.1f} standard errors lie between.",
      tokens.front(), tokens.back(), error->values.front(), error->values.back(), power->value,
      law->values.front(), law->values.back(), farthest);
  claim.facts = {{"farthest", farthest},
                 {"exponent", power->value},
                 {"error_first", error->values.front()},
                 {"error_last", error->values.back()}};
  return claim;
}

}  // namespace headgauge
