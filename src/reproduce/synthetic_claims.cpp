// Paper B's claims on random tokens (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/claims.hpp"
#include "headgauge/metric_names.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/rates.hpp"
#include "statistics/slope.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr int kFewestScales = 4;
constexpr double kNoDrop = 0.05;    // fall of a rate that counts as none
constexpr double kInnerBall = 1.0;  // in this ball hundreds of tokens suffice for 1/sqrt n
constexpr double kRootLow = 0.4, kRootHigh = 0.6;
constexpr double kGrowth = 1.0;  // of log C(R) per unit of R
constexpr int kFewestBalls = 3;
constexpr double kLawMargin = 0.1;  // relative difference between an error and its law
constexpr double kSlow = -0.2;      // an exponent of n that may be a power of log n

std::string scale_test(const char* what) {
  return fmt::format(
      "Does not hold where at some scale the fitted rate{} is significantly below 1/(2(1+H^2)) "
      "(Student's t, Benjamini-Hochberg over the scales at {:g} %); holds where at every scale it "
      "is "
      "shown to be above that less {} ({:g} %); else cannot tell. Not tested with fewer than {} "
      "scales that have a rate.",
      what, 100 * kFamilyLevel, kRateMargin, 100 * kRateLevel, kFewestScales);
}

constexpr const char* kSlope =
    "The theorem bounds the error from above; that the slope of the error is at least as steep "
    "over "
    "the n at hand is a reading of it, and more than it says.";

Claim gaussian_rate(Claim claim, const Results& results, const std::string& kind) {
  claim.reading = kSlope;
  claim.test = scale_test("");
  if (results.metric(experiment_metric("gaussian", metric::rate_predicted)) == nullptr) {
    return not_tested(claim, not_measured("gaussian"));
  }
  const Rates rates = rates_of(results, "gaussian", kind);
  if (rates.fitted < kFewestScales) {
    return not_tested(claim, fmt::format("{} scales have a rate.", rates.fitted));
  }
  claim.verdict = rates.verdict(1);
  claim.measured = said_of(rates, kind) + ".";
  add_facts(rates, kind, claim);
  return claim;
}

}  // namespace

Claim gaussian_mean_rate(const Results& results) {
  return gaussian_rate(
      claim_of("B", "gaussian_mean_rate", "Gaussian tokens, slope against horizon",
               "The mean of the outputs converges at least as fast as n^-1/(2(1+H^2))."),
      results, "mean");
}

Claim gaussian_covariance_rate(const Results& results) {
  return gaussian_rate(
      claim_of("B", "gaussian_covariance_rate", "Gaussian tokens, slope against horizon",
               "The covariance of the outputs converges at least as fast as n^-1/(2(1+H^2))."),
      results, "covariance");
}

Claim horizon_slows_down(const Results& results) {
  Claim claim = claim_of("B", "horizon_slows_down", "Gaussian tokens, slope against horizon",
                         "The larger the horizon, the slower the outputs converge.");
  claim.reading = "We compare the ends of the sweep, because all rates below H = 0.3 are near 1/2.";
  claim.test = fmt::format(
      "Both rates are significantly lower at the largest horizon than at the smallest (Welch's t "
      "at {:g} %). Does not hold where one surely falls by less than {}; else cannot "
      "tell. Cannot tell either unless the horizons go from below 0.5 to above 1.",
      100 * kFamilyLevel, kNoDrop);
  const LabelledArray* horizon = results.metric(experiment_metric("gaussian", metric::horizon));
  const LabelledArray* mean = results.metric(experiment_metric("gaussian", metric::rate_mean));
  const LabelledArray* covariance =
      results.metric(experiment_metric("gaussian", metric::rate_covariance));
  if (horizon == nullptr || mean == nullptr || covariance == nullptr) {
    return not_tested(claim, not_measured("gaussian"));
  }
  const auto [low, high] = std::ranges::minmax_element(horizon->values);
  if (!(*low < 0.5) || !(*high > 1)) {
    return not_tested(claim, fmt::format("Horizons go from {} to {}.", shown(*low), shown(*high)));
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
      return not_tested(claim, "A rate at an end of the sweep has no standard error.");
    }
    const Interval interval = t_interval(
        {drop.difference, drop.standard_error, drop.degrees_of_freedom}, 2 * kFamilyLevel);
    slower = slower && interval.low > 0;
    refuted = refuted || interval.high < kNoDrop;
  }
  claim.verdict = slower ? Verdict::holds : refuted ? Verdict::does_not_hold : Verdict::cannot_tell;
  claim.measured = fmt::format(
      "From H = {} to {} the rate of the mean goes from {:.3f} to {:.3f}, of the covariance from "
      "{:.3f} "
      "to {:.3f}.",
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

Claim sphere_rates(const Results& results) {
  Claim claim = claim_of("B", "sphere_rates", "sphere, slope against horizon",
                         "On the sphere mean and covariance converge at least as fast as "
                         "n^-1/(2(1+H^2)).");
  claim.reading =
      std::string(kSlope) +
      " The paper's scales give horizons of 35 and more, where the bound asks for next to nothing: "
      "that the errors fall at all.";
  claim.test =
      scale_test(", of the mean or of the covariance,") +
      fmt::format(
          " It is not tested either with fewer than {} scales whose bound asks for more than {}.",
          kFewestScales, kDemanding);
  if (results.metric(experiment_metric("sphere", metric::rate_predicted)) == nullptr) {
    return not_tested(claim, not_measured("sphere"));
  }
  const Rates mean = rates_of(results, "sphere", "mean");
  const Rates covariance = rates_of(results, "sphere", "covariance");
  if (!judge_both(mean, covariance, kFewestScales, 1, "scales", claim)) return claim;
  // A prediction that demands almost nothing proves nothing when it is met.
  if (claim.verdict != Verdict::does_not_hold && mean.demanding < kFewestScales) {
    claim.verdict = Verdict::not_tested;
  }
  claim.measured +=
      fmt::format(" The bound asks for a rate above {} at {} scales.", kDemanding, mean.demanding);
  claim.facts.push_back({"demanding", static_cast<double>(mean.demanding)});
  return claim;
}

Claim ball_rate(const Results& results) {
  Claim claim =
      claim_of("B", "ball_rate", "Theorem on uniform convergence",
               "Over the queries of a ball of radius R attention converges as C(R)/sqrt n, "
               "C(R) exponential in R.");
  claim.reading =
      "We use Gaussian tokens at horizon 1. The rate is judged up to R = 1: the larger the ball, "
      "the more tokens it takes before 1/sqrt n begins. C(R) is sqrt n times the error at the "
      "largest n.";
  claim.test = fmt::format(
      "The 95 % intervals of the rates of all balls up to R = {:g} are within {} to {}, and log "
      "C(R) "
      "grows by at least {:g} per unit of R (least squares over all balls). Does not hold where "
      "one rate is outside; else cannot tell: the theorem bounds C from above, so that a slower "
      "growth does not refute it. Not tested with fewer than {} balls up to that R.",
      kInnerBall, kRootLow, kRootHigh, kGrowth, kFewestBalls);
  const LabelledArray* rate = results.metric(experiment_metric("gaussian", metric::uniform_rate));
  const LabelledArray* constant =
      results.metric(experiment_metric("gaussian", metric::uniform_constant));
  if (rate == nullptr || constant == nullptr) return not_tested(claim, not_measured("gaussian"));
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
    const Place place = place_of(fitted, kRootLow, kRootHigh);
    all = all && place == Place::inside;
    outside = outside || place == Place::outside;
  }
  if (inner < kFewestBalls) {
    return not_tested(claim, fmt::format("{} balls were measured, {} with a rate up to R = {:g}.",
                                         log_constants.size(), inner, kInnerBall));
  }
  if (outside || all) of_rate = outside ? Verdict::does_not_hold : Verdict::holds;
  const double growth = least_squares_slope(measured_radii, log_constants);
  claim.verdict =
      growth >= kGrowth || of_rate == Verdict::does_not_hold ? of_rate : Verdict::cannot_tell;
  claim.measured = fmt::format(
      "The worst query's error falls as n^-{:.2f} at R = {:g}; sqrt n times it grows from {} at R "
      "= {:g} "
      "to {} at {:g}, by e^{:.2f} per unit of R.",
      rate->values.front(), radii.front(), shown(constant->values.front()), radii.front(),
      shown(constant->values.back()), radii.back(), growth);
  claim.facts = {{"growth_per_radius", growth}};
  for (std::size_t r = 0; r < radii.size(); ++r) {
    claim.facts.push_back({fmt::format("rate_{:g}", radii[r]), rate->values[r]});
    claim.facts.push_back({fmt::format("constant_{:g}", radii[r]), constant->values[r]});
  }
  return claim;
}

Claim hardmax_is_logarithmic(const Results& results) {
  Claim claim =
      claim_of("B", "hardmax_is_logarithmic", "Theorem on the hardmax limit",
               "If attention takes only the largest score, it converges only as a power of log n.");
  claim.reading =
      "For Gaussian tokens the law of the error is known (docs/mathematics.md 5b): it falls as "
      "1/sqrt(log "
      "n).";
  claim.test = fmt::format(
      "Does not hold where at some n the error differs significantly from its law (Student's t, "
      "{:g} "
      "% for all n together), or where its exponent in n over at least 4 points is below {}; holds "
      "where at every n the two are shown to be equal within {:g} % (two one-sided tests at 5 %).",
      100 * kFamilyLevel, kSlow, 100 * kLawMargin);
  const LabelledArray* error = results.metric(experiment_metric("gaussian", metric::hardmax_error));
  const LabelledArray* law =
      results.metric(experiment_metric("gaussian", metric::hardmax_error_predicted));
  if (error == nullptr || law == nullptr) return not_tested(claim, not_measured("gaussian"));
  const auto tokens = results.coord_numbers("gaussian_tokens");
  // Every error is a mean over the same number of replicates.
  const LabelledArray* replicates =
      results.metric(experiment_metric("gaussian", metric::error_mean));
  const double freedom = replicates == nullptr ? kKnownError : freedom_of_fit(*replicates, 0, 1);
  double farthest = 0;
  bool apart = false, equal = true;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Estimate cell = error->at_offset(i);
    if (!(cell.standard_error > 0)) return not_tested(claim, "An error has no standard error.");
    const MeanWithError mean{cell.value, cell.standard_error, freedom};
    const double own_law = law->values[i];
    const TTest from_law = t_test(mean, own_law);
    apart = apart || from_law.p * static_cast<double>(tokens.size()) < kFamilyLevel;
    farthest = std::max(farthest, std::abs(from_law.statistic));
    equal = equal && t_test(mean, own_law * (1 - kLawMargin), Tail::above).p < kRateLevel &&
            t_test(mean, own_law * (1 + kLawMargin), Tail::below).p < kRateLevel;
  }
  const auto power = power_of(tokens, error->values);
  if (!power) return not_tested(claim, "There are fewer than 4 numbers of tokens.");
  claim.verdict = apart || power->value < kSlow ? Verdict::does_not_hold
                  : equal                       ? Verdict::holds
                                                : Verdict::cannot_tell;
  claim.measured = fmt::format(
      "From n = {:g} to {:g} the error goes from {:.3f} to {:.3f} (n^{:.2f}), its law from {:.3f} "
      "to "
      "{:.3f}; at most {:.1f} standard errors lie between.",
      tokens.front(), tokens.back(), error->values.front(), error->values.back(), power->value,
      law->values.front(), law->values.back(), farthest);
  claim.facts = {{"farthest", farthest},
                 {"exponent", power->value},
                 {"error_first", error->values.front()},
                 {"error_last", error->values.back()}};
  return claim;
}

}  // namespace headgauge
