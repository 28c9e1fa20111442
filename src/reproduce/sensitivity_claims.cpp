// Paper A's claims on gradients and on how sensitivity depends on temperature (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kCold = 0.1;      // the paper's limit
constexpr double kColdest = 0.01;  // lowest temperature that headgauge measures; the paper lists
                                   // none
constexpr double kHot = 10;
constexpr double kSmallStep = 0.01;  // largest finite step that can show a gradient
constexpr double kSameLabel = 1e-6;
constexpr double kRoundingOfSteps = 1e-4;
constexpr double kLevel = 0.01;
constexpr double kQuarter = 0.25;  // 1/(4T) at T = 1

// g of every head at every temperature, for one step.
struct Curves {
  double epsilon = kUndefined;
  std::vector<double> temperature;
  std::vector<std::vector<double>> g;  // by head
  std::vector<double> largest;         // of all heads
  std::vector<std::size_t> cold;       // indices of the temperatures from 0.01 to 0.1

  // Returns the index of the temperature, if it was measured.
  std::optional<std::size_t> place(double t) const {
    for (std::size_t i = 0; i < temperature.size(); ++i) {
      if (std::abs(temperature[i] / t - 1) < kSameLabel) return i;
    }
    return std::nullopt;
  }
  // Returns the exponent in T over the cold temperatures.
  std::optional<Estimate> power(const std::vector<double>& of) const {
    std::vector<double> x, y;
    for (const std::size_t t : cold) {
      x.push_back(temperature[t]);
      y.push_back(of[t]);
    }
    return power_of(x, y);
  }
  // Returns that of every head; undefined where a head has none.
  std::vector<Estimate> powers() const {
    std::vector<Estimate> all;
    for (const auto& head : g) all.push_back(power(head).value_or(Estimate()));
    return all;
  }
};

// The curves are empty if the sensitivity was not measured.
Curves curves_of(const Evidence& found, Index step) {
  Curves curves;
  if (found.results.metric(metric::sensitivity) == nullptr) return curves;
  const auto temperatures = found.numbers("temperature");
  curves.epsilon = found.numbers("epsilon")[step];
  curves.temperature.assign(temperatures.begin(), temperatures.end());
  curves.g.resize(found.heads().size());
  for (Index t = 0; t < std::ssize(temperatures); ++t) {
    const auto at = found.of_heads(metric::sensitivity, {{"temperature", t}, {"epsilon", step}});
    double& largest = curves.largest.emplace_back(kUndefined);
    for (std::size_t h = 0; h < at.size(); ++h) {
      curves.g[h].push_back(at[h]);
      largest = std::fmax(largest, at[h]);
    }
    const double own = temperatures[t];
    if (own >= kColdest * (1 - kSameLabel) && own <= kCold * (1 + kSameLabel)) {
      curves.cold.push_back(static_cast<std::size_t>(t));
    }
  }
  return curves;
}

// Returns the index of the smallest step; nothing if none was measured.
std::optional<Index> smallest_of(const Evidence& found) {
  if (found.results.metric(metric::sensitivity) == nullptr) return std::nullopt;
  const auto epsilons = found.numbers("epsilon");
  return std::ranges::min_element(epsilons) - epsilons.begin();
}

// The curves are empty if no step is small enough.
Curves smallest_step(const Evidence& found) {
  const auto step = smallest_of(found);
  if (!step || found.numbers("epsilon")[*step] > kSmallStep) return {};
  return curves_of(found, *step);
}

}  // namespace

void sensitivity_follows_temperature(Evidence& found) {
  const double least = -1 - found.threshold("tolerance"), most = -1 + found.threshold("tolerance");
  const Curves curves = smallest_step(found);
  const std::vector<Estimate> exponents = curves.powers();
  const auto of_largest = curves.power(curves.largest);
  found.need(!finite_values(values_of(exponents)).empty() && of_largest, "temperatures");
  HeadVotes votes;
  for (const Estimate& exponent : exponents) votes.add(place_of(exponent, least, most));
  name_votes(found, votes);
  judge_estimate(found, *of_largest, least, most);
  found.set({{"exponent_median", median_of(values_of(exponents))},
             {"coldest", curves.temperature[curves.cold.front()]},
             {"warmest", curves.temperature[curves.cold.back()]},
             {"epsilon", curves.epsilon},
             {"g_first", curves.largest[curves.cold.front()]},
             {"g_last", curves.largest[curves.cold.back()]}});
}

void sensitivity_falls_by_two_orders(Evidence& found) {
  const Curves curves = smallest_step(found);
  const auto cold = curves.place(kCold), hot = curves.place(kHot), warm = curves.place(1);
  found.need(cold && hot && !curves.g.empty(), "temperatures");
  const double least = found.threshold("orders");
  std::vector<double> orders;
  for (const auto& head : curves.g) {
    const double own = std::log10(head[*cold] / head[*hot]);
    if (!std::isnan(own)) orders.push_back(own);
  }
  const double g_cold = curves.largest[*cold], g_hot = curves.largest[*hot];
  const double g_one = warm ? curves.largest[*warm] : kUndefined;
  const double fall = std::log10(g_cold / g_hot);
  found.verdict = verdict_if(fall >= least, true);
  found.set({{"fall", fall},
             {"median", median(orders)},
             {"heads", orders.size()},
             {"falling", std::ranges::count_if(orders, [&](double own) { return own >= least; })},
             {"epsilon", curves.epsilon},
             {"g_cold", g_cold},
             {"g_hot", g_hot},
             {"g_one", g_one},
             {"fall_from_one", std::log10(g_one / g_hot)}});
}

void steps_agree(Evidence& found) {
  const auto smallest = smallest_of(found);
  const Index steps = smallest ? std::ssize(found.numbers("epsilon")) : 0;
  const auto at = [&](Index step) { return values_of(curves_of(found, step).powers()); };
  const auto reference = smallest ? at(*smallest) : std::vector<double>();
  found.need(steps >= 2 && finite_values(reference).size() >= kFewestOfMedian, "steps");
  const double most = found.threshold("difference");
  std::vector<Place> places;
  std::string others;
  for (Index step = 0; step < steps; ++step) {
    if (step == *smallest) continue;
    const Curves curves = curves_of(found, step);
    const auto differences = paired_differences(values_of(curves.powers()), reference);
    const Interval interval = interval_of_median(finite_values(differences));
    places.push_back(place_of(interval, -most, most));
    const auto of_largest = curves.power(curves.largest);
    found.set({{"epsilon", curves.epsilon},
               {"difference", median_of(differences)},
               {"low", interval.low},
               {"high", interval.high},
               {"of_largest", of_largest ? of_largest->value : kUndefined},
               {fmt::format("difference_{:g}", curves.epsilon), median_of(differences)}});
    others += found.text("step");
  }
  found.verdict = verdict_of(places);
  found.set({{"exponent", median_of(reference)}, {"step", found.numbers("epsilon")[*smallest]}});
  found.set_word("others", others);
}

void gradient_bound_is_safe(Evidence& found) {
  const auto norm = found.of_heads(metric::jacobian_spectral, {});
  const auto tightness = finite_values(over(norm, found.of_heads(metric::jacobian_bound, {})));
  found.need(!tightness.empty(), "jacobian");
  found.describe("tightness", tightness);
  found.set("of_paper", median_of(over(norm, found.of_heads(metric::jacobian_bound_paper, {}))));
  found.verdict = verdict_if(std::ranges::max(tightness) <= 1 + kRoundingOfSteps, true);
}

void gradient_is_within_quarter(Evidence& found) {
  const std::string normalizer = found.results.settings.value("normalizer", "softmax");
  found.set_word("normalizer", normalizer);
  found.need(normalizer == "softmax", "normalizer");
  std::vector<double> p, norms;
  Estimate most{.value = -1};
  for (const Estimate& norm : found.estimates(metric::jacobian_spectral, {})) {
    if (std::isnan(norm.value)) continue;
    norms.push_back(norm.value);
    if (norm.value > most.value) most = norm;
    const TTest test =
        t_test({norm.value, norm.standard_error, norm.degrees_of_freedom}, kQuarter, Tail::above);
    if (!std::isnan(test.p)) p.push_back(test.p);
  }
  found.need(!norms.empty(), "jacobian");
  const auto above = std::ranges::count_if(
      norms, [](double norm) { return norm > kQuarter * (1 + kRoundingOfSteps); });
  found.verdict = verdict_if(false, above > 0);
  found.set(
      {{"largest_share", most.value / kQuarter},
       {"heads", norms.size()},
       {"above", above},
       {"surely", std::ranges::count_if(adjusted_p_values(p), [](double q) { return q < kLevel; })},
       {"norm_most", most.value},
       {"norm_most_stderr", most.standard_error},
       {"share_median", median(norms) / kQuarter}});
  found.set_word("error", std::isnan(most.standard_error) ? "" : found.text("plus_minus"));
}

}  // namespace headgauge
