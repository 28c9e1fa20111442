// Paper B's claims on random tokens (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/experiments.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/rates.hpp"
#include "statistics/inference.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr int kFewestScales = 4;
constexpr double kInnerBall = 1.0;  // in this ball hundreds of tokens suffice for 1/sqrt n
constexpr int kFewestBalls = 3;
constexpr double kRoundingOfGrowth = 1e-9;

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
  std::vector<Verdict> verdicts;
  std::string measured;
  for (const bool by_proxy : {false, true}) {
    Verdict& verdict = verdicts.emplace_back(Verdict::holds);
    for (const OfTokens& atoms : kAtoms) {
      if (results.metric(experiment_metric(atoms.name, metric::horizon)) == nullptr) {
        return not_tested(not_measured(atoms.name));
      }
      const auto rates = [&](const char* kind) {
        return rates_of(results, atoms.name, kind, thresholds.at("tolerance"),
                        by_proxy ? atoms.proxy : 1);
      };
      if (!judge_both(rates("mean"), rates("covariance"), kFewestScales, 1, "scales", claim)) {
        return claim;
      }
      if (verdict == Verdict::holds || claim.verdict == Verdict::does_not_hold) {
        verdict = claim.verdict;
      }
      if (!by_proxy) measured += fmt::format("R = {:g}: {} ", atoms.radius, claim.measured);
    }
  }
  claim.verdict = verdicts[0] == verdicts[1] ? verdicts[0] : Verdict::cannot_tell;
  claim.measured =
      fmt::format("{}With H of the covariance it {}, with H of the variance proxy it {}.", measured,
                  verdict_text(verdicts[0]), verdict_text(verdicts[1]));
  return claim;
}

Claim moment_constant_is_polynomial(const Results& results, const Thresholds& thresholds) {
  std::vector<double> constants;
  for (const OfTokens& atoms : kAtoms) {
    const LabelledArray* error =
        results.metric(experiment_metric(atoms.name, metric::error_covariance_absolute));
    const LabelledArray* rate =
        results.metric(experiment_metric(atoms.name, metric::rate_predicted));
    if (error == nullptr || rate == nullptr) return not_tested(not_measured(atoms.name));
    const auto tokens = results.coord_numbers(fmt::format("{}_tokens", atoms.name));
    const auto first = error->values.end() - std::ssize(tokens);  // of the last horizon
    double& largest = constants.emplace_back(0);
    for (Index i = 0; i < std::ssize(tokens); ++i) {
      largest = std::max(largest, first[i] * std::pow(tokens[i], rate->values.back()));
    }
  }
  const double early = std::log2(constants[1] / constants[0]);
  const double late = std::log2(constants[2] / constants[1]);
  Claim claim;
  if (late <= thresholds.at("factor") * early) claim.verdict = Verdict::holds;
  claim.measured = fmt::format(
      "C' goes from {} at R = 1 to {} at 2 and {} at 4: as R^{:.2f} and then as R^{:.2f}.",
      shown(constants[0]), shown(constants[1]), shown(constants[2]), early, late);
  claim.facts = {{"exponent_late", late}, {"exponent_early", early}};
  return claim;
}

Claim ball_rate(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const LabelledArray* rate = results.metric(experiment_metric("gaussian", metric::uniform_rate));
  const LabelledArray* constant =
      results.metric(experiment_metric("gaussian", metric::uniform_constant));
  if (rate == nullptr || constant == nullptr) return not_tested(not_measured("gaussian"));
  const auto radii = results.coord_numbers("gaussian_radius");
  std::vector<Place> places;
  std::vector<double> inner, growth;  // radii that are judged, and growth of log C from the last
  for (std::size_t r = 0; r < radii.size(); ++r) {
    if (r > 0) {
      growth.push_back(std::log(constant->values[r] / constant->values[r - 1]) /
                       (radii[r] - radii[r - 1]));
    }
    if (radii[r] > kInnerBall || std::isnan(rate->values[r])) continue;
    inner.push_back(radii[r]);
    Estimate fitted = rate->at_offset(r);
    fitted.degrees_of_freedom = freedom_of_fit(*rate, r, 2);
    const double width = thresholds.at("width");
    places.push_back(place_of(fitted, 0.5 - width, 0.5 + width));
  }
  if (std::ssize(inner) < kFewestBalls) {
    return not_tested(fmt::format("{} balls were measured, {} with a rate up to R = {:g}.",
                                  radii.size(), inner.size(), kInnerBall));
  }
  const double first = growth.front(), last = growth[inner.size() - 2];
  claim.verdict = verdict_of(places);
  if (claim.verdict == Verdict::holds && last < first - kRoundingOfGrowth) {
    claim.verdict = Verdict::cannot_tell;
  }
  claim.measured = fmt::format(
      "The worst query's error falls as n^-{:.2f} at R = {:g} and n^-{:.2f} at {:g}. sqrt n times "
      "it "
      "goes from {} to {} there, by e^{:.2f} per unit of R at first and e^{:.2f} at last.",
      rate->values.front(), radii.front(), rate->values[inner.size() - 1], inner.back(),
      shown(constant->values.front()), shown(constant->values[inner.size() - 1]), first, last);
  claim.facts = {{"growth_first", first}, {"growth_last", last}};
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
