// Paper B's claims on random tokens (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "headgauge/metric_names.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/experiments.hpp"
#include "reproduce/judgement.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kInnerBall = 1.0;  // in this ball hundreds of tokens suffice for 1/sqrt n
constexpr int kFewestBalls = 3;
constexpr double kRoundingOfGrowth = 1e-9;

void gaussian_rate(Evidence& found, const std::string& kind) {
  const Rates rates = compare_rates(found, "gaussian", kind);
  found.set("fitted", rates.fitted);
  found.need(rates.fitted >= kFewestScales, "rates");
  found.verdict = rates.verdict;
}

}  // namespace

void gaussian_mean_rate(Evidence& found) {
  gaussian_rate(found, "mean");
}

void gaussian_covariance_rate(Evidence& found) {
  gaussian_rate(found, "covariance");
}

void horizon_slows_down(Evidence& found) {
  const auto& horizon = found.of_experiment("gaussian", metric::horizon);
  const auto& mean = found.of_experiment("gaussian", metric::rate_mean);
  const auto& covariance = found.of_experiment("gaussian", metric::rate_covariance);
  const auto [low, high] = std::ranges::minmax_element(horizon.values);
  found.set({{"horizon_first", *low}, {"horizon_last", *high}});
  found.need(*low < 0.5 && *high > 1, "horizons");
  const auto first = static_cast<std::size_t>(low - horizon.values.begin());
  const auto last = static_cast<std::size_t>(high - horizon.values.begin());
  bool slower = true, refuted = false;
  for (const LabelledArray* rate : {&mean, &covariance}) {
    const auto fit_at = [&](std::size_t i) {
      const Estimate cell = rate->at_offset(i);
      return MeanWithError{cell.value, cell.standard_error, freedom_of_fit(*rate, i, 2)};
    };
    const TTest drop = welch_test(fit_at(first), fit_at(last), Tail::above);
    found.need(!std::isnan(drop.p), "errors");
    const Interval interval = t_interval(
        {drop.difference, drop.standard_error, drop.degrees_of_freedom}, 2 * kFamilyLevel);
    slower = slower && interval.low > 0;
    refuted = refuted || interval.high < found.threshold("drop");
  }
  found.verdict = verdict_if(slower, refuted);
  found.set({{"mean_first", mean.values[first]},
             {"mean_last", mean.values[last]},
             {"covariance_first", covariance.values[first]},
             {"covariance_last", covariance.values[last]}});
}

void sphere_rates(Evidence& found) {
  judge_rates(found, "sphere", kFewestScales);
  // A prediction that demands almost nothing proves nothing when it is met.
  const double least = found.threshold("demanding");
  const auto scales =
      std::ranges::count_if(found.of_experiment("sphere", metric::rate_predicted).values,
                            [&](double p) { return p >= least; });
  if (found.verdict != Verdict::does_not_hold && scales < kFewestScales) {
    found.verdict = Verdict::not_tested;
  }
  found.set("scales", scales);
}

void subgaussian_rates(Evidence& found) {
  std::vector<Verdict> verdicts;
  std::string laws;
  for (const bool by_proxy : {false, true}) {
    Verdict& verdict = verdicts.emplace_back(Verdict::holds);
    for (const OfTokens& atoms : kAtoms) {
      judge_rates(found, atoms.name, kFewestScales, 1, by_proxy ? atoms.proxy : 1);
      if (verdict == Verdict::holds || found.verdict == Verdict::does_not_hold) {
        verdict = found.verdict;
      }
      found.set("radius", atoms.radius);
      if (!by_proxy) laws += found.text("law");
    }
  }
  found.verdict = verdicts[0] == verdicts[1] ? verdicts[0] : Verdict::cannot_tell;
  found.set_word("laws", laws);
  found.set_word("by_covariance", verdict_text(verdicts[0]));
  found.set_word("by_proxy", verdict_text(verdicts[1]));
}

void moment_constant_is_polynomial(Evidence& found) {
  std::vector<double> constants;
  for (const OfTokens& atoms : kAtoms) {
    const auto& error = found.of_experiment(atoms.name, metric::error_covariance_absolute);
    const auto& rate = found.of_experiment(atoms.name, metric::rate_predicted);
    const auto tokens = found.numbers(fmt::format("{}_tokens", atoms.name));
    const auto first = error.values.end() - std::ssize(tokens);  // of the last horizon
    double& largest = constants.emplace_back(0);
    for (Index i = 0; i < std::ssize(tokens); ++i) {
      largest = std::max(largest, first[i] * std::pow(tokens[i], rate.values.back()));
    }
    found.set(atoms.name, largest);
  }
  const double early = std::log2(constants[1] / constants[0]);
  const double late = std::log2(constants[2] / constants[1]);
  found.verdict = verdict_if(late <= found.threshold("factor") * early, false);
  found.set({{"exponent_late", late}, {"exponent_early", early}});
}

void ball_rate(Evidence& found) {
  const auto& rate = found.of_experiment("gaussian", metric::uniform_rate);
  const auto& constant = found.of_experiment("gaussian", metric::uniform_constant);
  const auto radii = found.numbers("gaussian_radius");
  std::vector<Place> places;
  std::vector<double> inner, growth;  // radii that are judged, and growth of log C from the last
  const double width = found.threshold("width");
  for (std::size_t r = 0; r < radii.size(); ++r) {
    if (r > 0) {
      growth.push_back(std::log(constant.values[r] / constant.values[r - 1]) /
                       (radii[r] - radii[r - 1]));
    }
    if (radii[r] > kInnerBall || std::isnan(rate.values[r])) continue;
    inner.push_back(radii[r]);
    Estimate fitted = rate.at_offset(r);
    fitted.degrees_of_freedom = freedom_of_fit(rate, r, 2);
    places.push_back(place_of(fitted, 0.5 - width, 0.5 + width));
  }
  found.set({{"balls", radii.size()}, {"inner", inner.size()}, {"largest", kInnerBall}});
  found.need(std::ssize(inner) >= kFewestBalls, "balls");
  const double first = growth.front(), last = growth[inner.size() - 2];
  found.verdict = verdict_of(places);
  if (found.verdict == Verdict::holds && last < first - kRoundingOfGrowth) {
    found.verdict = Verdict::cannot_tell;
  }
  found.set({{"first_radius", radii.front()},
             {"last_radius", inner.back()},
             {"first_rate", rate.values.front()},
             {"last_rate", rate.values[inner.size() - 1]},
             {"first_constant", constant.values.front()},
             {"last_constant", constant.values[inner.size() - 1]},
             {"growth_first", first},
             {"growth_last", last}});
  for (std::size_t r = 0; r < radii.size(); ++r) {
    found.set({{fmt::format("rate_{:g}", radii[r]), rate.values[r]},
               {fmt::format("constant_{:g}", radii[r]), constant.values[r]}});
  }
}

void hardmax_is_logarithmic(Evidence& found) {
  const auto& error = found.of_experiment("gaussian", metric::hardmax_error);
  const auto& law = found.of_experiment("gaussian", metric::hardmax_error_predicted);
  const auto tokens = found.numbers("gaussian_tokens");
  // Every error is a mean over the same number of replicates.
  const LabelledArray* replicates =
      found.results.metric(experiment_metric("gaussian", metric::error_mean));
  const double freedom = replicates == nullptr ? kKnownError : freedom_of_fit(*replicates, 0, 1);
  const double margin = found.threshold("tolerance");
  double farthest = 0;
  bool apart = false, equal = true;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Estimate cell = error.at_offset(i);
    found.need(cell.standard_error > 0, "errors");
    const MeanWithError mean{cell.value, cell.standard_error, freedom};
    const double own_law = law.values[i];
    const TTest from_law = t_test(mean, own_law);
    apart = apart || from_law.p * static_cast<double>(tokens.size()) < kFamilyLevel;
    farthest = std::max(farthest, std::abs(from_law.statistic));
    equal = equal && t_test(mean, own_law * (1 - margin), Tail::above).p < kRateLevel &&
            t_test(mean, own_law * (1 + margin), Tail::below).p < kRateLevel;
  }
  const auto power = power_of(tokens, error.values);
  found.need(power.has_value(), "tokens");
  const bool fast = power->value < found.threshold("slow");
  found.verdict = verdict_if(equal && !apart && !fast, apart || fast);
  found.set({{"first_n", tokens.front()},
             {"last_n", tokens.back()},
             {"error_first", error.values.front()},
             {"error_last", error.values.back()},
             {"exponent", power->value},
             {"law_first", law.values.front()},
             {"law_last", law.values.back()},
             {"farthest", farthest}});
}

}  // namespace headgauge
