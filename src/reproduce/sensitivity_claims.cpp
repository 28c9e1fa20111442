// Paper A's claims on gradients and on how sensitivity depends on temperature (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/cells.hpp"
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
constexpr const char* kNoJacobian =
    "No Jacobian was measured: scan with ScanOptions::measures = sensitivity.";

// Returns g of every head (rows) at every temperature, for the smallest step.
struct Curves {
  double epsilon = kUndefined;
  std::vector<double> temperature;
  std::vector<std::vector<double>> g;

  Index heads() const { return std::ssize(g); }
  // Returns the maximum over all heads at one temperature.
  double largest(std::size_t t) const {
    double most = kUndefined;
    for (const auto& head : g) most = std::fmax(most, head[t]);
    return most;
  }
  // Returns the index of the temperature, if it was measured.
  std::optional<std::size_t> place(double t) const {
    for (std::size_t i = 0; i < temperature.size(); ++i) {
      if (std::abs(temperature[i] / t - 1) < kSameLabel) return i;
    }
    return std::nullopt;
  }
};

// The curves are empty if the sensitivity was not measured.
Curves curves_of(const Results& results, Index step) {
  Curves curves;
  if (results.metric(metric::sensitivity) == nullptr) return curves;
  const auto temperatures = results.coord_numbers("temperature");
  curves.epsilon = results.coord_numbers("epsilon")[step];
  curves.temperature.assign(temperatures.begin(), temperatures.end());
  for (const HeadName& head : measured_heads(results)) {
    std::vector<double> g;
    for (Index t = 0; t < std::ssize(temperatures); ++t) {
      const auto cell = find_cell(results, metric::sensitivity,
                                  {{"layer", head.layer_index},
                                   {"head", head.head_index},
                                   {"temperature", t},
                                   {"epsilon", step}});
      g.push_back(cell ? cell->value : kUndefined);
    }
    curves.g.push_back(std::move(g));
  }
  return curves;
}

// Returns the index of the smallest step; nothing if none was measured.
std::optional<Index> smallest_of(const Results& results) {
  if (results.metric(metric::sensitivity) == nullptr) return std::nullopt;
  const auto epsilons = results.coord_numbers("epsilon");
  return std::ranges::min_element(epsilons) - epsilons.begin();
}

// The curves are empty if no step is small enough.
Curves smallest_step(const Results& results) {
  const auto step = smallest_of(results);
  if (!step || results.coord_numbers("epsilon")[*step] > kSmallStep) return {};
  return curves_of(results, *step);
}

// Returns the exponents of g in T from 0.01 to 0.1.
struct Cold {
  std::vector<std::size_t> places;
  std::vector<double> temperature;

  explicit Cold(const Curves& curves) {
    for (std::size_t t = 0; t < curves.temperature.size(); ++t) {
      const double own = curves.temperature[t];
      if (own < kColdest * (1 - kSameLabel) || own > kCold * (1 + kSameLabel)) continue;
      places.push_back(t);
      temperature.push_back(own);
    }
  }
  template <class AtPlace>
  std::optional<Estimate> power(const AtPlace& g_at) const {
    std::vector<double> g;
    for (const std::size_t t : places) g.push_back(g_at(t));
    return power_of(temperature, g);
  }
};

}  // namespace

Claim sensitivity_follows_temperature(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const double tolerance = thresholds.at("tolerance");
  const Curves curves = smallest_step(results);
  const Cold cold(curves);
  HeadVotes votes;
  std::vector<double> exponents;
  for (const auto& head : curves.g) {
    const auto power = cold.power([&](std::size_t t) { return head[t]; });
    votes.add(power ? place_of(*power, -1 - tolerance, -1 + tolerance) : Place::open);
    if (power) exponents.push_back(power->value);
  }
  const auto of_largest = cold.power([&](std::size_t t) { return curves.largest(t); });
  if (exponents.empty() || !of_largest) {
    return not_tested(
        "Fewer than 4 temperatures up to 0.1 were measured, or no small step: scan with "
        "MeasureOptions::temperatures = 0.01,0.02,0.05,0.1 and MeasureOptions::epsilons = 0.001.");
  }
  const double first = curves.largest(cold.places.front());
  const double last = curves.largest(cold.places.back());
  const Interval interval = t_interval(mean_of(*of_largest));
  claim.verdict = verdict_of(place_of(interval, -1 - tolerance, -1 + tolerance));
  claim.measured = fmt::format(
      "From T = {:.3g} to {:.3g} the largest g goes from {} to {}, as T^{:.2f} ({:.2f} to {:.2f}). "
      "The median head's exponent is {:.2f}: of {} heads {} follow 1/T, {} do not, {} are "
      "undecided.",
      cold.temperature.front(), cold.temperature.back(), shown(first), shown(last),
      of_largest->value, interval.low, interval.high, median(exponents), votes.all(), votes.yes,
      votes.no, votes.open);
  claim.facts = {{"exponent", of_largest->value},
                 {"exponent_median", median(exponents)},
                 {"heads", static_cast<double>(votes.all())},
                 {"heads_following", static_cast<double>(votes.yes)},
                 {"epsilon", curves.epsilon},
                 {"g_first", first},
                 {"g_last", last}};
  return claim;
}

Claim sensitivity_falls_by_two_orders(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const Curves curves = smallest_step(results);
  const auto cold = curves.place(kCold), hot = curves.place(kHot), warm = curves.place(1);
  if (!cold || !hot || curves.heads() == 0) {
    return not_tested(
        "T = 0.1 and T = 10 were not both measured, or no small step: scan with "
        "MeasureOptions::temperatures = 0.1,1,10 and MeasureOptions::epsilons = 0.001.");
  }
  HeadVotes votes;
  std::vector<double> orders;
  for (const auto& head : curves.g) {
    const double own = std::log10(head[*cold] / head[*hot]);
    if (std::isnan(own)) continue;
    orders.push_back(own);
    votes.add(own >= thresholds.at("orders") ? Place::inside : Place::outside);
  }
  const double g_cold = curves.largest(*cold), g_hot = curves.largest(*hot);
  const double g_one = warm ? curves.largest(*warm) : kUndefined;
  const double fall = std::log10(g_cold / g_hot);
  claim.verdict = fall >= thresholds.at("orders") ? Verdict::holds : Verdict::does_not_hold;
  claim.measured = fmt::format(
      "From T = 0.1 to 10 the largest g falls by 10^{:.2f}, from {} to {}, of which 1/T itself is "
      "10^2; at T = 1 it is {}, so that it falls by 10^{:.2f} from there on. The median head's g "
      "falls by 10^{:.2f}: {} of {} heads fall by two "
      "orders when rounded.",
      fall, shown(g_cold), shown(g_hot), shown(g_one), std::log10(g_one / g_hot), median(orders),
      votes.yes, votes.all());
  claim.facts = {{"orders", std::log10(g_cold / g_hot)},
                 {"orders_median", median(orders)},
                 {"heads", static_cast<double>(votes.all())},
                 {"heads_falling", static_cast<double>(votes.yes)},
                 {"epsilon", curves.epsilon},
                 {"g_cold", g_cold},
                 {"g_hot", g_hot},
                 {"g_one", g_one}};
  return claim;
}

Claim steps_agree(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const auto smallest = smallest_of(results);
  const Index steps = smallest ? results.coord_size("epsilon") : 0;
  const auto exponents_of = [&](Index step) {
    const Curves curves = curves_of(results, step);
    const Cold cold(curves);
    std::vector<double> exponents;
    for (const auto& head : curves.g) {
      const auto power = cold.power([&](std::size_t t) { return head[t]; });
      exponents.push_back(power ? power->value : kUndefined);
    }
    return exponents;
  };
  const std::vector<double> reference = smallest ? exponents_of(*smallest) : std::vector<double>();
  if (steps < 2 || finite_values(reference).size() < kFewestOfMedian) {
    return not_tested(
        "Fewer than 2 steps, 4 temperatures up to 0.1 or 8 heads were measured: scan "
        "with MeasureOptions::temperatures = 0.01,0.02,0.05,0.1 and "
        "MeasureOptions::epsilons = 0.001,0.1,10.");
  }
  std::vector<Place> places;
  claim.measured =
      fmt::format("The median exponent is {:.2f} for a step of {:g}",
                  median(finite_values(reference)), results.coord_numbers("epsilon")[*smallest]);
  for (Index step = 0; step < steps; ++step) {
    if (step == *smallest) continue;
    const double epsilon = results.coord_numbers("epsilon")[step];
    const std::vector<double> differences =
        finite_values(paired_differences(exponents_of(step), reference));
    const double difference = median(differences);
    const Interval interval = interval_of_median(differences);
    places.push_back(place_of(interval, -thresholds.at("difference"), thresholds.at("difference")));
    const Curves curves = curves_of(results, step);
    const auto of_largest = Cold(curves).power([&](std::size_t t) { return curves.largest(t); });
    claim.measured += fmt::format(
        "; for {:g} it differs by {:+.3f} ({:+.3f} to {:+.3f}), and the exponent of the largest g "
        "is {}",
        epsilon, difference, interval.low, interval.high,
        shown(of_largest ? of_largest->value : kUndefined));
    claim.facts.push_back({fmt::format("difference_{:g}", epsilon), difference});
  }
  claim.measured += ".";
  claim.verdict = verdict_of(places);
  return claim;
}

Claim gradient_bound_is_safe(const Results& results, const Thresholds&) {
  Claim claim;
  std::vector<double> tightness, of_paper;
  for (const HeadName& head : measured_heads(results)) {
    const auto norm = find_cell_of_head(results, metric::jacobian_spectral, head);
    const auto bound = find_cell_of_head(results, metric::jacobian_bound, head);
    const auto paper = find_cell_of_head(results, metric::jacobian_bound_paper, head);
    if (norm && bound && bound->value > 0) tightness.push_back(norm->value / bound->value);
    if (norm && paper && paper->value > 0) of_paper.push_back(norm->value / paper->value);
  }
  if (tightness.empty()) return not_tested(kNoJacobian);
  const auto [least, most] = std::ranges::minmax(tightness);
  claim.verdict = most <= 1 + kRoundingOfSteps ? Verdict::holds : Verdict::does_not_hold;
  claim.measured = fmt::format(
      "The norm is {:.2f} of headgauge's bound in the median head, {:.2f} to {:.2f}; of the "
      "paper's, as its prose has it, {}.",
      median(tightness), least, most, shown(median(of_paper)));
  claim.facts = {{"heads", static_cast<double>(tightness.size())},
                 {"tightness_median", median(tightness)},
                 {"tightness_least", least},
                 {"tightness_most", most},
                 {"tightness_of_paper_median", median(of_paper)}};
  return claim;
}

Claim gradient_is_within_quarter(const Results& results, const Thresholds&) {
  Claim claim;
  const std::string normalizer = results.settings.value("normalizer", "softmax");
  if (normalizer != "softmax") {
    return not_tested(
        fmt::format("The bound is that of softmax at T = 1; the weights are "
                    "those of {}.",
                    normalizer));
  }
  std::vector<double> p, norms;
  MetricCell most;
  most.value = -1;
  for (const HeadName& head : measured_heads(results)) {
    const auto norm = find_cell_of_head(results, metric::jacobian_spectral, head);
    if (!norm) continue;
    norms.push_back(norm->value);
    if (norm->value > most.value) most = *norm;
    const TTest test = t_test({norm->value, norm->standard_error, norm->degrees_of_freedom},
                              kQuarter, Tail::above);
    if (!std::isnan(test.p)) p.push_back(test.p);
  }
  if (norms.empty()) return not_tested(kNoJacobian);
  const auto above = std::ranges::count_if(
      norms, [](double norm) { return norm > kQuarter * (1 + kRoundingOfSteps); });
  const auto surely =
      std::ranges::count_if(adjusted_p_values(p), [](double q) { return q < kLevel; });
  claim.verdict = above > 0 ? Verdict::does_not_hold : Verdict::cannot_tell;
  claim.measured = fmt::format(
      "The mean norm of {} of {} heads is above 1/4, of {} beyond chance; the largest is {} times "
      "1/4 ({}), the median {}.",
      above, norms.size(), surely, shown(most.value / kQuarter),
      std::isnan(most.standard_error)
          ? fmt::format("{:.4f}", most.value)
          : fmt::format("{:.4f} ± {:.4f}", most.value, most.standard_error),
      shown(median(norms) / kQuarter));
  claim.facts = {{"largest_share", most.value / kQuarter},
                 {"heads", static_cast<double>(norms.size())},
                 {"heads_above", static_cast<double>(above)},
                 {"heads_above_beyond_chance", static_cast<double>(surely)},
                 {"norm_most", most.value},
                 {"norm_most_stderr", most.standard_error},
                 {"share_median", median(norms) / kQuarter}};
  return claim;
}

}  // namespace headgauge
