// Paper A's claims on gradients and on how sensitivity depends on temperature (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/cells.hpp"
#include "headgauge/claims.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
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
constexpr double kInverseLow = -1.2, kInverseHigh = -0.8;  // exponent -1 within 0.2
constexpr double kTwoOrders = 1.5;                         // decades: 2 when rounded
constexpr double kSameExponent = 0.1;  // difference of the exponents of two steps
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

constexpr const char* kReading =
    "g is the paper's: logits q.k/sqrt(d), one random direction a query, the mean over queries, "
    "the "
    "largest over heads; the smallest of its steps (0.001), which sees the gradient.";

}  // namespace

Claim sensitivity_follows_temperature(const Results& results) {
  Claim claim = claim_of("A", "sensitivity_follows_temperature", "Fig. 4",
                         "Below T = 0.1 the sensitivity g follows 1/T.");
  claim.reading = fmt::format(
      "{} We take T from 0.01 to 0.1, because the paper does not list its temperatures. A row's g "
      "goes as 1/T only while T is above the gap of its two largest logits. If these gaps have a "
      "density f(0) at 0, the share of rows with T above the gap is proportional to f(0) T, and "
      "the mean over rows tends to a constant: an exponent of 0, whatever the step. 1/T is the law "
      "of the largest row, not of a mean. The heads one by one stand beside the verdict.",
      kReading);
  claim.test = fmt::format(
      "Least squares of the logarithm of the largest g over heads on log T, over at least 4 "
      "temperatures from {} to {}: holds where the 95 % interval of the exponent (from the scatter "
      "about a power) is within {} to {}, does not hold where it is outside; else cannot tell. "
      "Steps above {} are not used.",
      kColdest, kCold, kInverseLow, kInverseHigh, kSmallStep);
  const Curves curves = smallest_step(results);
  const Cold cold(curves);
  HeadVotes votes;
  std::vector<double> exponents;
  for (const auto& head : curves.g) {
    const auto power = cold.power([&](std::size_t t) { return head[t]; });
    votes.add(power ? place_of(*power, kInverseLow, kInverseHigh) : Place::open);
    if (power) exponents.push_back(power->value);
  }
  const auto of_largest = cold.power([&](std::size_t t) { return curves.largest(t); });
  if (exponents.empty() || !of_largest) {
    return not_tested(claim,
                      "Fewer than 4 temperatures up to 0.1 were measured, or no small step: scan "
                      "with MeasureOptions::temperatures = 0.01,0.02,0.05,0.1 and "
                      "MeasureOptions::epsilons = 0.001.");
  }
  const double first = curves.largest(cold.places.front());
  const double last = curves.largest(cold.places.back());
  const Interval interval = t_interval(mean_of(*of_largest));
  claim.verdict = verdict_of(place_of(interval, kInverseLow, kInverseHigh));
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

Claim sensitivity_falls_by_two_orders(const Results& results) {
  Claim claim = claim_of("A", "sensitivity_falls_by_two_orders", "Fig. 4",
                         "Above T = 0.1 the sensitivity g falls by two orders of magnitude.");
  claim.reading = fmt::format(
      "{} We read \"above\" as up to T = 10, because the paper gives no limit. 1/T alone gives two "
      "orders of magnitude over these two decades; the test shows whether one-hot weights at T = "
      "0.1 reduce this.",
      kReading);
  claim.test = fmt::format(
      "log10 of g(0.1)/g(10) of the largest g over heads: holds where it is at least {} (two "
      "orders "
      "when rounded), does not otherwise.",
      kTwoOrders);
  const Curves curves = smallest_step(results);
  const auto cold = curves.place(kCold), hot = curves.place(kHot), warm = curves.place(1);
  if (!cold || !hot || curves.heads() == 0) {
    return not_tested(claim,
                      "T = 0.1 and T = 10 were not both measured, or no small step: scan with "
                      "MeasureOptions::temperatures = 0.1,1,10 and MeasureOptions::epsilons = "
                      "0.001.");
  }
  HeadVotes votes;
  std::vector<double> orders;
  for (const auto& head : curves.g) {
    const double own = std::log10(head[*cold] / head[*hot]);
    if (std::isnan(own)) continue;
    orders.push_back(own);
    votes.add(own >= kTwoOrders ? Place::inside : Place::outside);
  }
  const double g_cold = curves.largest(*cold), g_hot = curves.largest(*hot);
  const double g_one = warm ? curves.largest(*warm) : kUndefined;
  const double fall = std::log10(g_cold / g_hot);
  claim.verdict = fall >= kTwoOrders ? Verdict::holds : Verdict::does_not_hold;
  claim.measured = fmt::format(
      "From T = 0.1 to 10 the largest g falls by 10^{:.2f}, from {} to {}, of which 1/T itself is "
      "10^2; at T = 1 it is {}. The median head's g falls by 10^{:.2f}: {} of {} heads fall by two "
      "orders when rounded.",
      fall, shown(g_cold), shown(g_hot), shown(g_one), median(orders), votes.yes, votes.all());
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

Claim steps_agree(const Results& results) {
  Claim claim = claim_of("A", "steps_agree", "Fig. 4",
                         "The sensitivity depends on T in the same way for all three steps.");
  claim.reading =
      "The same way means that the exponents of g in T agree from T = 0.01 to 0.1. A step of 10 "
      "moves the weights at most sqrt 2, so that g is at most 0.14 there, whatever T.";
  claim.test = fmt::format(
      "Least squares of log g on log T, head by head, at least 4 temperatures from {} to {}: the "
      "95 % interval of the median head's difference of its exponent from that of the smallest "
      "step (bootstrap over the heads) is within {:+g} to {:+g} for every other step. Does not "
      "hold where one is outside; else cannot tell. A one-hot head's weights hardly move in single "
      "precision, and its exponent may be anything: hence the median.",
      kColdest, kCold, -kSameExponent, kSameExponent);
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
    return not_tested(claim,
                      "Fewer than 2 steps, 4 temperatures up to 0.1 or 8 heads were measured: scan "
                      "with MeasureOptions::temperatures = 0.01,0.02,0.05,0.1 and "
                      "MeasureOptions::epsilons = 0.001,0.1,10.");
  }
  bool all = true, outside = false;
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
    const Place place = place_of(interval, -kSameExponent, kSameExponent);
    all = all && place == Place::inside;
    outside = outside || place == Place::outside;
    claim.measured += fmt::format("; for {:g} it differs by {:+.3f} ({:+.3f} to {:+.3f})", epsilon,
                                  difference, interval.low, interval.high);
    claim.facts.push_back({fmt::format("difference_{:g}", epsilon), difference});
  }
  claim.measured += ".";
  claim.verdict = all ? Verdict::holds : outside ? Verdict::does_not_hold : Verdict::cannot_tell;
  return claim;
}

Claim gradient_bound_is_safe(const Results& results) {
  Claim claim = claim_of(
      "A", "gradient_bound_is_safe", "Lemma 2",
      "The norm of the Jacobian is never above headgauge's bound, which replaces the paper's.");
  claim.theorem = true;
  claim.reading =
      "The paper's own bound differs, but its formula is missing in print; jacobian_bound_paper "
      "follows its prose and is shown for comparison. The theorem that is checked is headgauge's "
      "(jacobian_bound, docs/mathematics.md 4), for softmax at most 1/(2T).";
  claim.test = fmt::format(
      "At the longest L the mean spectral norm of no head is above its mean bound by more than "
      "{:g} of it (rounding). This compares means only; the tests of the code compare single rows.",
      kRoundingOfSteps);
  std::vector<double> tightness, of_paper;
  for (const HeadName& head : measured_heads(results)) {
    const auto norm = find_cell_of_head(results, metric::jacobian_spectral, head);
    const auto bound = find_cell_of_head(results, metric::jacobian_bound, head);
    const auto paper = find_cell_of_head(results, metric::jacobian_bound_paper, head);
    if (norm && bound && bound->value > 0) tightness.push_back(norm->value / bound->value);
    if (norm && paper && paper->value > 0) of_paper.push_back(norm->value / paper->value);
  }
  if (tightness.empty()) return not_tested(claim, kNoJacobian);
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

Claim gradient_is_within_quarter(const Results& results) {
  Claim claim = claim_of("A", "gradient_is_within_quarter", "Corollary 3",
                         "The norm of the gradient is at most 1/(4T).");
  claim.reading =
      "1/(4T) bounds every entry of the Jacobian of softmax, and 1/(2T) its norm: two weights of "
      "1/2 reach that. Here T = 1. A mean above 1/4 has a row above it; a mean below says nothing "
      "of single rows.";
  claim.test = fmt::format(
      "At the longest L: does not hold where the mean spectral norm of some head is above 1/4 by "
      "more than {:g} of it (rounding), so that some row is; else cannot tell. Student's t, with "
      "Benjamini-Hochberg over the heads at {:g} %, gives the number of heads whose mean is above "
      "beyond this text's chance.",
      kRoundingOfSteps, 100 * kLevel);
  const std::string normalizer = results.settings.value("normalizer", "softmax");
  if (normalizer != "softmax") {
    return not_tested(claim, fmt::format("The bound is that of softmax at T = 1; the weights are "
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
  if (norms.empty()) return not_tested(claim, kNoJacobian);
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
  claim.facts = {{"share_most", most.value / kQuarter},
                 {"heads", static_cast<double>(norms.size())},
                 {"heads_above", static_cast<double>(above)},
                 {"heads_above_beyond_chance", static_cast<double>(surely)},
                 {"norm_most", most.value},
                 {"norm_most_stderr", most.standard_error},
                 {"share_median", median(norms) / kQuarter}};
  return claim;
}

}  // namespace headgauge
