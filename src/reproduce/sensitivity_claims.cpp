// Paper A's claims on how sensitivity depends on temperature (docs/reproduce.md).
#include <fmt/format.h>

#include <cmath>

#include "headgauge/cells.hpp"
#include "reproduce/claims.hpp"
#include "reproduce/judgement.hpp"

namespace headgauge {
namespace {

constexpr double kCold = 0.1;      // the paper's limit
constexpr double kColdest = 0.01;  // of the temperatures that headgauge takes; the paper lists none
constexpr double kWithout = 0.03;  // where weights have not yet become one-hot, for comparison
constexpr double kHot = 10;
constexpr double kSmallStep = 0.01;                        // a finite step must see a gradient
constexpr double kInverseLow = -1.2, kInverseHigh = -0.8;  // 1/T give or take a fifth
constexpr double kTwoOrders = 1.5;                         // decades: 2 when rounded
constexpr double kSameLabel = 1e-6;
constexpr const char* kMetric = "sensitivity_max";

struct Curve {
  double epsilon = kUndefined;
  std::vector<double> temperature, g;
  // Interpolation is not needed: both ends are in the default list. Undefined elsewhere.
  double at(double t) const {
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (std::abs(temperature[i] / t - 1) < kSameLabel) return g[i];
    }
    return kUndefined;
  }
  std::pair<std::vector<double>, std::vector<double>> between(double low, double high) const {
    std::pair<std::vector<double>, std::vector<double>> part;
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (temperature[i] < low * (1 - kSameLabel) || temperature[i] > high * (1 + kSameLabel)) {
        continue;
      }
      part.first.push_back(temperature[i]);
      part.second.push_back(g[i]);
    }
    return part;
  }
};

// The largest g over the heads, for the smallest step; empty where no step is small enough.
Curve smallest_step(const Results& results) {
  Curve curve;
  if (results.metric(kMetric) == nullptr) return curve;
  const auto epsilons = results.coord_numbers("epsilon");
  const auto temperatures = results.coord_numbers("temperature");
  Index smallest = -1;
  for (std::size_t e = 0; e < epsilons.size(); ++e) {
    if (epsilons[e] > kSmallStep || epsilons[e] >= curve.epsilon) continue;
    curve.epsilon = epsilons[e];
    smallest = static_cast<Index>(e);
  }
  if (smallest < 0) return curve;
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    const auto cell = find_cell(results, kMetric,
                                {{"temperature", static_cast<Index>(t)}, {"epsilon", smallest}});
    if (!cell) continue;
    curve.temperature.push_back(temperatures[t]);
    curve.g.push_back(cell->value);
  }
  return curve;
}

constexpr const char* kReading =
    "g is the paper's: logits q.k/sqrt(d), one random direction a query, the mean over queries, "
    "the "
    "largest over heads; the smallest of its steps (0.001), which sees the gradient.";

}  // namespace

Claim sensitivity_follows_temperature(const Results& results) {
  Claim claim = claim_of("A", "sensitivity_follows_temperature", "Fig. 4",
                         "Below T = 0.1 the sensitivity g follows 1/T.");
  claim.reading =
      fmt::format("{} From T = 0.01 to 0.1: the paper does not list its temperatures.", kReading);
  claim.test = fmt::format(
      "Least squares of log g on log T over at least 4 temperatures from {} to {}: holds where the "
      "exponent +- 2 standard errors is within {} to {}, does not where it is outside, else cannot "
      "tell. Steps above {} are not looked at.",
      kColdest, kCold, kInverseLow, kInverseHigh, kSmallStep);
  const Curve curve = smallest_step(results);
  const auto [temperature, g] = curve.between(kColdest, kCold);
  const auto power = power_of(temperature, g);
  if (!power) {
    return without_data(claim,
                        "Fewer than 4 temperatures up to 0.1 were measured, or no small step.");
  }
  const auto [warmer, its_g] = curve.between(kWithout, kCold);
  const auto upper = power_of(warmer, its_g);
  claim.verdict = verdict_of(place_of(*power, kInverseLow, kInverseHigh));
  claim.measured = fmt::format(
      "From T = {:.3g} to {:.3g} g goes from {} to {}, as T^{:.2f} (+- {:.2f}); from {} on as "
      "T^{}.",
      temperature.front(), temperature.back(), shown(g.front()), shown(g.back()), power->value,
      power->standard_error, kWithout, upper ? fmt::format("{:.2f}", upper->value) : "-");
  claim.facts = {{"exponent", power->value},
                 {"exponent_stderr", power->standard_error},
                 {"exponent_upper", upper ? upper->value : kUndefined},
                 {"epsilon", curve.epsilon},
                 {"g_first", g.front()},
                 {"g_last", g.back()}};
  return claim;
}

Claim sensitivity_falls_by_two_orders(const Results& results) {
  Claim claim = claim_of("A", "sensitivity_falls_by_two_orders", "Fig. 4",
                         "Above T = 0.1 the sensitivity g falls by two orders of magnitude.");
  claim.reading = fmt::format(
      "{} Above means up to T = 10: the paper does not say how far. 1/T alone would give the two "
      "orders over these two decades.",
      kReading);
  claim.test =
      fmt::format("log10 of g(0.1)/g(10) is at least {}: two orders when rounded.", kTwoOrders);
  const Curve curve = smallest_step(results);
  const double cold = curve.at(kCold), hot = curve.at(kHot);
  if (!(cold > 0) || !(hot > 0)) {
    return without_data(claim, "T = 0.1 and T = 10 were not both measured, or no small step.");
  }
  const double orders = std::log10(cold / hot);
  claim.verdict = orders >= kTwoOrders ? Verdict::holds : Verdict::does_not_hold;
  const double warm = curve.at(1);
  claim.measured =
      fmt::format("g falls from {} at T = 0.1 to {} at T = 10, by 10^{:.2f}; at T = 1 it is {}.",
                  shown(cold), shown(hot), orders, shown(warm));
  claim.facts = {{"orders", orders},
                 {"epsilon", curve.epsilon},
                 {"g_cold", cold},
                 {"g_hot", hot},
                 {"g_one", warm}};
  return claim;
}

}  // namespace headgauge
