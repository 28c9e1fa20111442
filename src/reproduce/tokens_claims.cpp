// Paper B's claims (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/cells.hpp"
#include "reproduce/claims.hpp"
#include "reproduce/judgement.hpp"
#include "statistics/rank_correlation.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// Of several scales (or numbers of tokens) all must pass: together they fail a true claim with this
// probability. Fits over few points have few degrees of freedom, for which Student's t accounts.
constexpr double kFamilyLevel = 0.01;
constexpr double kHeadLevel = 0.025;  // of a head, of which some are beyond by chance
constexpr int kFewestScales = 4;
constexpr double kLoose = 0.2;       // half an interval above which a rate says little
constexpr double kNoDrop = 0.05;     // of a rate: nothing worth the name
constexpr double kSomething = 0.01;  // a predicted rate below asks for next to nothing
constexpr double kByChance = 0.05;   // of heads that may be beyond
constexpr double kInnerBall = 1.0;   // where n of hundreds is enough for 1/sqrt n
constexpr double kRootLow = 0.4, kRootHigh = 0.6;
constexpr double kGrowth = 1.0;  // of log C(R) per unit of R
constexpr int kFewestBalls = 3;

std::string not_measured(std::string_view experiment) {
  return experiment == "model"
             ? "There are no rates of a model: give TokensOptions::model (a dump needs values)."
             : fmt::format("The experiment on {} tokens is not there.", experiment);
}

// Of the fit behind a cell; infinite, so that its error counts as known, where the file does not
// say how many points it had.
double freedom_at(const LabelledArray& metric, std::size_t i, double parameters) {
  const double left = metric.rows.empty() ? 0 : static_cast<double>(metric.rows[i]) - parameters;
  return left > 0 ? left : kKnownError;
}

// How the fitted rates of one kind of error stand to the predicted ones.
struct Rates {
  int fitted = 0, slower = 0, demanding = 0;
  double least_margin = kUndefined;  // rate less prediction, in standard errors
  double slowest = kUndefined, fastest = kUndefined;
};

// `family`: whether the level is that of all scales together, or of each.
Rates rates_of(const Results& results, const std::string& experiment, const std::string& kind,
               double level, bool family) {
  Rates rates;
  const LabelledArray* fitted = results.metric(fmt::format("{}_rate_{}", experiment, kind));
  const LabelledArray* predicted = results.metric(fmt::format("{}_rate_predicted", experiment));
  if (fitted == nullptr || predicted == nullptr) return rates;
  if (family) level /= static_cast<double>(fitted->values.size());
  for (std::size_t i = 0; i < fitted->values.size(); ++i) {
    const Estimate cell = fitted->at_offset(i);
    const double rate = cell.value, error = cell.standard_error;
    if (std::isnan(rate) || !(error > 0) || std::isnan(predicted->values[i])) continue;
    const double errors = student_quantile(level, freedom_at(*fitted, i, 2));
    if (errors * error > kLoose) continue;
    ++rates.fitted;
    if (predicted->values[i] >= kSomething) ++rates.demanding;
    const double margin = (rate - predicted->values[i]) / error;
    if (margin < -errors) ++rates.slower;
    rates.least_margin = std::fmin(rates.least_margin, margin);
    rates.slowest = std::fmin(rates.slowest, rate);
    rates.fastest = std::fmax(rates.fastest, rate);
  }
  return rates;
}

std::string scale_test(const char* what) {
  return fmt::format(
      "Holds where at no scale the fitted rate{} is significantly below 1/(2(1+H^2)) (Student's t "
      "at a level of {:g} % for all scales together). Cannot tell with fewer than {} scales whose "
      "rate is known to within {}.",
      what, 100 * kFamilyLevel, kFewestScales, kLoose);
}

std::string said_of(const Rates& rates, const std::string& kind) {
  return fmt::format(
      "The {} is slower at {} of {} scales; rates from {:.3f} to {:.3f}, the nearest {:+.1f} "
      "standard "
      "errors from its prediction",
      kind, rates.slower, rates.fitted, rates.slowest, rates.fastest, rates.least_margin);
}

void add_facts(const Rates& rates, const std::string& kind, Claim& claim) {
  const auto add = [&](const char* name, double value) {
    claim.facts.push_back({fmt::format("{}_{}", kind, name), value});
  };
  add("fitted", rates.fitted);
  add("slower", rates.slower);
  add("least_margin", rates.least_margin);
  add("rate_slowest", rates.slowest);
  add("rate_fastest", rates.fastest);
}

Verdict verdict_of_scales(const Rates& rates) {
  if (rates.fitted < kFewestScales) return Verdict::cannot_tell;
  return rates.slower == 0 ? Verdict::holds : Verdict::does_not_hold;
}

Claim gaussian_rate(Claim claim, const Results& results, const std::string& kind) {
  claim.test = scale_test("");
  if (results.metric("gaussian_rate_predicted") == nullptr) {
    return without_data(claim, not_measured("gaussian"));
  }
  const Rates rates = rates_of(results, "gaussian", kind, kFamilyLevel, true);
  claim.verdict = verdict_of_scales(rates);
  if (claim.verdict == Verdict::cannot_tell) {
    return without_data(claim,
                        fmt::format("{} scales have a rate that can be used.", rates.fitted));
  }
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
  claim.reading = "Between the ends of the sweep: below H = 0.3 all rates are near 1/2.";
  claim.test = fmt::format(
      "Both rates are significantly lower at the largest horizon than at the smallest (Student's t "
      "at a level of {:g} %). Does not hold where one surely falls by less than {}; else cannot "
      "tell. Cannot tell either unless the horizons go from below 0.5 to above 1.",
      100 * kFamilyLevel, kNoDrop);
  const LabelledArray* horizon = results.metric("gaussian_horizon");
  const LabelledArray* mean = results.metric("gaussian_rate_mean");
  const LabelledArray* covariance = results.metric("gaussian_rate_covariance");
  if (horizon == nullptr || mean == nullptr || covariance == nullptr) {
    return without_data(claim, not_measured("gaussian"));
  }
  const auto [low, high] = std::ranges::minmax_element(horizon->values);
  if (!(*low < 0.5) || !(*high > 1)) {
    return without_data(claim,
                        fmt::format("Horizons go from {} to {}.", shown(*low), shown(*high)));
  }
  const auto first = static_cast<std::size_t>(low - horizon->values.begin());
  const auto last = static_cast<std::size_t>(high - horizon->values.begin());
  bool slower = true, refuted = false;
  for (const LabelledArray* rate : {mean, covariance}) {
    const Estimate a = rate->at_offset(first), b = rate->at_offset(last);
    const double error = std::hypot(a.standard_error, b.standard_error);
    if (std::isnan(a.value) || std::isnan(b.value) || std::isnan(error)) {
      return without_data(claim, "A rate at an end of the sweep has no standard error.");
    }
    const double freedom = std::min(freedom_at(*rate, first, 2), freedom_at(*rate, last, 2));
    const double margin = student_quantile(kFamilyLevel / 2, freedom) * error;
    slower = slower && a.value - b.value > margin;
    refuted = refuted || a.value - b.value + margin < kNoDrop;
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
      "The paper's scales give horizons of 35 and more, where the bound asks for next to nothing: "
      "that "
      "the errors fall at all.";
  claim.test = scale_test(", of the mean or of the covariance,");
  if (results.metric("sphere_rate_predicted") == nullptr) {
    return without_data(claim, not_measured("sphere"));
  }
  const Rates mean = rates_of(results, "sphere", "mean", kFamilyLevel, true);
  const Rates covariance = rates_of(results, "sphere", "covariance", kFamilyLevel, true);
  const Verdict a = verdict_of_scales(mean), b = verdict_of_scales(covariance);
  if (a == Verdict::cannot_tell || b == Verdict::cannot_tell) {
    return without_data(claim, fmt::format("{} and {} scales have a rate that can be used.",
                                           mean.fitted, covariance.fitted));
  }
  claim.verdict = a == Verdict::holds ? b : a;
  claim.measured =
      fmt::format("{}. {}. The bound asks for a rate above {} at {} scales.", said_of(mean, "mean"),
                  said_of(covariance, "covariance"), kSomething, mean.demanding);
  add_facts(mean, "mean", claim);
  add_facts(covariance, "covariance", claim);
  claim.facts.push_back({"demanding", static_cast<double>(mean.demanding)});
  return claim;
}

Claim ball_rate(const Results& results) {
  Claim claim =
      claim_of("B", "ball_rate", "Theorem on uniform convergence",
               "Over the queries of a ball of radius R attention converges as C(R)/sqrt n, "
               "C(R) exponential in R.");
  claim.reading =
      "On Gaussian tokens at horizon 1. The rate is judged up to R = 1: the larger the ball, the "
      "more "
      "tokens it takes before 1/sqrt n begins. C(R) is sqrt n times the error at the largest n.";
  claim.test = fmt::format(
      "The rates of all balls up to R = {:g} +- 2 standard errors are within {} to {}, and log "
      "C(R) "
      "grows by at least {:g} per unit of R (least squares over all balls). Does not hold where "
      "one rate is outside; else cannot tell: the theorem bounds C from above, so that a slower "
      "growth does not refute it. At least {} balls.",
      kInnerBall, kRootLow, kRootHigh, kGrowth, kFewestBalls);
  const LabelledArray* rate = results.metric("gaussian_uniform_rate");
  const LabelledArray* constant = results.metric("gaussian_uniform_constant");
  if (rate == nullptr || constant == nullptr) return without_data(claim, not_measured("gaussian"));
  const auto radii = results.coord_numbers("gaussian_radius");
  Verdict of_rate = Verdict::cannot_tell;
  int inner = 0;
  bool all = true, outside = false;
  double x = 0, y = 0, count = 0;
  for (std::size_t r = 0; r < radii.size(); ++r) {
    if (constant->values[r] > 0) {
      x += radii[r];
      y += std::log(constant->values[r]);
      ++count;
    }
    if (radii[r] > kInnerBall || std::isnan(rate->values[r])) continue;
    ++inner;
    const Place place = place_of(rate->at_offset(r), kRootLow, kRootHigh);
    all = all && place == Place::inside;
    outside = outside || place == Place::outside;
  }
  if (inner == 0 || count < kFewestBalls) {
    return without_data(claim, fmt::format("{} balls were measured, {} with a rate up to R = {:g}.",
                                           count, inner, kInnerBall));
  }
  if (outside || all) of_rate = outside ? Verdict::does_not_hold : Verdict::holds;
  double xx = 0, xy = 0;
  for (std::size_t r = 0; r < radii.size(); ++r) {
    if (!(constant->values[r] > 0)) continue;
    xx += (radii[r] - x / count) * (radii[r] - x / count);
    xy += (radii[r] - x / count) * (std::log(constant->values[r]) - y / count);
  }
  const double growth = xy / xx;
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
               "Where attention takes the largest score alone it converges only as a power "
               "of log n.");
  claim.reading =
      "For Gaussian tokens the law of the error is known (docs/mathematics.md 5b): it falls as "
      "1/sqrt(log "
      "n).";
  claim.test = fmt::format(
      "At no n does the error differ significantly from its law (Student's t at a level of {:g} % "
      "for all n together), and its exponent in n over at least 4 points is above -0.2.",
      100 * kFamilyLevel);
  const LabelledArray* error = results.metric("gaussian_hardmax_error");
  const LabelledArray* law = results.metric("gaussian_hardmax_error_predicted");
  if (error == nullptr || law == nullptr) return without_data(claim, not_measured("gaussian"));
  const auto tokens = results.coord_numbers("gaussian_tokens");
  // Every error is a mean over the same number of replicates.
  const LabelledArray* replicates = results.metric("gaussian_error_mean");
  const double freedom = replicates == nullptr ? kKnownError : freedom_at(*replicates, 0, 1);
  double farthest = 0;
  bool apart = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Estimate cell = error->at_offset(i);
    const double value = cell.value, spread = cell.standard_error;
    if (!(spread > 0)) return without_data(claim, "An error has no standard error.");
    const double distance = std::abs(value - law->values[i]) / spread;
    const double level = kFamilyLevel / 2 / static_cast<double>(tokens.size());
    apart = apart || distance > student_quantile(level, freedom);
    farthest = std::max(farthest, distance);
  }
  const auto power = power_of(tokens, error->values);
  if (!power) return without_data(claim, "There are fewer than 4 numbers of tokens.");
  constexpr double kSlow = -0.2;
  claim.verdict = !apart && power->value > kSlow ? Verdict::holds : Verdict::does_not_hold;
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

Claim model_rates(const Results& results) {
  Claim claim =
      claim_of("B", "model_rates", "BERT, slope against horizon",
               "No head of the model converges more slowly than n^-1/(2(1+H^2)), in mean or "
               "covariance.");
  claim.reading =
      "Subsamples of a finite text stand for n tokens, and its whole for the limit: rates near 1/2 "
      "are "
      "what that gives wherever the text is long enough for the head.";
  claim.test = fmt::format(
      "Of mean and covariance each: at most {:g} % of the heads have a rate significantly below "
      "1/(2(1+H^2)) (Student's t at {:g} %, which is what chance gives). Cannot tell with fewer "
      "than {} heads whose rates are known to within {}.",
      100 * kByChance, 100 * kHeadLevel, kFewestVotes, kLoose);
  if (results.metric("model_rate_predicted") == nullptr) {
    return without_data(claim, not_measured("model"));
  }
  const Rates mean = rates_of(results, "model", "mean", kHeadLevel, false);
  const Rates covariance = rates_of(results, "model", "covariance", kHeadLevel, false);
  if (std::min(mean.fitted, covariance.fitted) < kFewestVotes) {
    return without_data(claim, fmt::format("{} and {} heads have a rate that can be used.",
                                           mean.fitted, covariance.fitted));
  }
  const bool holds =
      mean.slower <= kByChance * mean.fitted && covariance.slower <= kByChance * covariance.fitted;
  claim.verdict = holds ? Verdict::holds : Verdict::does_not_hold;
  claim.measured = fmt::format(
      "Slower are {} of {} heads in the mean (rates {:.2f} to {:.2f}) and {} of {} in the "
      "covariance "
      "({:.2f} to {:.2f}).",
      mean.slower, mean.fitted, mean.slowest, mean.fastest, covariance.slower, covariance.fitted,
      covariance.slowest, covariance.fastest);
  add_facts(mean, "mean", claim);
  add_facts(covariance, "covariance", claim);
  return claim;
}

Claim model_slower_heads_see_further(const Results& results) {
  Claim claim = claim_of("B", "model_slower_heads_see_further", "BERT, slope against horizon",
                         "Heads of a larger horizon converge more slowly.");
  claim.reading = "Of the covariance, whose rate depends on the horizon most.";
  constexpr double kWeak = -0.3;
  claim.test = fmt::format(
      "The 95 % bootstrap interval of the rank correlation of horizon and measured rate over the "
      "heads "
      "is below 0. Does not hold where it is above {}, so that no more than a weak dependence is "
      "left; else cannot tell. At least 16 heads.",
      kWeak);
  const LabelledArray* horizon = results.metric("model_horizon");
  const LabelledArray* rate = results.metric("model_rate_covariance");
  const LabelledArray* mean = results.metric("model_rate_mean");
  if (horizon == nullptr || rate == nullptr || mean == nullptr) {
    return without_data(claim, not_measured("model"));
  }
  constexpr std::uint32_t kPair = 0x72657072;  // a stream of its own
  const RankCorrelation found = rank_correlation(horizon->values, rate->values, 0, kPair);
  if (std::isnan(found.value) || std::isnan(found.low) || std::isnan(found.high)) {
    return without_data(
        claim, fmt::format("{} heads have both, of which 16 are needed that differ.", found.pairs));
  }
  const RankCorrelation of_mean = rank_correlation(horizon->values, mean->values, 0, kPair + 1);
  if (found.high < 0 || found.low > kWeak) {
    claim.verdict = found.high < 0 ? Verdict::holds : Verdict::does_not_hold;
  }
  claim.measured = fmt::format(
      "Over {} heads the rank correlation is {:.2f} ({:.2f} to {:.2f}), of the mean's rate {}.",
      found.pairs, found.value, found.low, found.high, shown(of_mean.value));
  claim.facts = {{"rank_correlation", found.value},
                 {"low", found.low},
                 {"high", found.high},
                 {"heads", static_cast<double>(found.pairs)},
                 {"rank_correlation_mean", of_mean.value}};
  return claim;
}

std::vector<Claim> tokens_claims(const Results& results) {
  return {gaussian_mean_rate(results), gaussian_covariance_rate(results),
          horizon_slows_down(results), sphere_rates(results),
          ball_rate(results),          hardmax_is_logarithmic(results),
          model_rates(results),        model_slower_heads_see_further(results)};
}

}  // namespace headgauge
