// Paper A's claims on distances, critical N and separability (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "headgauge/cells.hpp"
#include "headgauge/claims.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/places.hpp"
#include "reproduce/scan_values.hpp"
#include "statistics/bootstrap.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kFixedN = 5;                           // N of Fig. 2a
constexpr double kLinearLow = 0.8, kLinearHigh = 1.25;  // 1 within a factor of 1.25
constexpr double kRounding = 1e-4;  // relative, for means of single-precision distances
constexpr double kConservative = 1.2;
constexpr double kFewN = 5, kManyN = 20, kMostN = 50;
constexpr double kLessReturn = 0.5;
constexpr double kNothing = 0.005;  // of what a token adds; it rounds to 0.00
constexpr double kSettledFrom = 16, kSettledTo = 100;
constexpr double kSettledLow = 0.70, kSettledHigh = 0.85;
constexpr double kDrift = 0.05;  // per doubling of N

std::string at_length(const Results& results) {
  const auto longest = longest_length(results);
  return longest ? fmt::format("L = {}", *longest) : "no length";
}

}  // namespace

Claim distance_grows_linearly(const Results& results) {
  Claim claim = claim_of("A", "distance_grows_linearly", "Fig. 2a",
                         "At a fixed N = 5 the distance grows linearly in the context length L.");
  claim.reading =
      "Linear means an exponent near 1. A causal head is measured in disjoint bins of rows (means "
      "over all rows up to L overlap, and are smoother than what they average), at L = 32 and "
      "above.";
  claim.test = fmt::format(
      "Least squares of log distance on log L, head by head, at least 4 points: grows linearly "
      "where the 95 % interval of the exponent is within {} to {}, does not if it is outside. "
      "Heads with a window below L are left out. {}",
      kLinearLow, kLinearHigh, kVotingRule);
  const auto n = find_label(results, "top_n", kFixedN);
  if (!n) return not_tested(claim, "N = 5 was not measured: scan with MeasureOptions::top_n = 5.");
  const HeadPowers powers =
      powers_of_heads(results, metric::distance, {"top_n", *n}, kLinearLow, kLinearHigh);
  const HeadVotes& votes = powers.votes;
  int slower = 0, faster = 0;
  for (const Estimate& exponent : powers.exponents) {
    if (place_of(exponent, kLinearLow, kLinearHigh) != Place::outside) continue;
    ++(exponent.value < 1 ? slower : faster);
  }
  const std::vector<double> exponents = powers.values();
  if (exponents.empty()) return not_tested(claim, too_few_points(metric::distance));
  claim.verdict = votes.verdict();
  const auto [least, most] = std::ranges::minmax(exponents);
  claim.measured = fmt::format(
      "The median exponent is {:.2f} ({:.2f} to {:.2f}): of {} heads {} grow linearly, {} more "
      "slowly, {} faster, {} are undecided.",
      median(exponents), least, most, votes.all(), votes.yes, slower, faster, votes.open);
  claim.facts = {{"exponent_median", median(exponents)},
                 {"exponent_least", least},
                 {"exponent_most", most},
                 {"heads", static_cast<double>(votes.all())},
                 {"heads_linear", static_cast<double>(votes.yes)},
                 {"heads_slower", static_cast<double>(slower)},
                 {"heads_faster", static_cast<double>(faster)}};
  return claim;
}

namespace {

// The ratios of the paper's bound and of headgauge's own to the distance: at N = 5 for every L, and
// at every N for the longest L.
struct BoundFactors {
  std::vector<double> paper, valid;
  std::vector<std::vector<double>> by_head;  // ratios of the paper's bound
};
BoundFactors bound_factors(const Results& results) {
  const auto lengths = numbers(results, "length"), sizes = numbers(results, "top_n");
  BoundFactors factors;
  for (const HeadName& head : measured_heads(results)) {
    std::vector<double>& of_head = factors.by_head.emplace_back();
    for (std::size_t l = 0; l < lengths.size(); ++l) {
      for (std::size_t n = 0; n < sizes.size(); ++n) {
        if (sizes[n] != kFixedN && l + 1 < lengths.size()) continue;
        const auto at = [&](const char* metric) {
          return value_at(results, metric, head, "length", static_cast<Index>(l),
                          {"top_n", static_cast<Index>(n)});
        };
        const auto distance = at(metric::distance), paper = at(metric::distance_bound_paper);
        const auto valid = at(metric::distance_bound);
        if (!distance || !paper || !(*distance > 0)) continue;
        factors.paper.push_back(*paper / *distance);
        of_head.push_back(factors.paper.back());
        if (valid) factors.valid.push_back(*valid / *distance);
      }
    }
  }
  return factors;
}

// The 95 % interval of the median of all values, by bootstrap over the heads.
Interval interval_of_all(const std::vector<std::vector<double>>& by_head) {
  const auto median_of = [&](std::span<const Index> heads) {
    std::vector<double> all;
    for (const Index head : heads) {
      all.insert(all.end(), by_head[head].begin(), by_head[head].end());
    }
    return all.empty() ? kUndefined : median(std::move(all));
  };
  return bootstrap_interval(std::ssize(by_head), median_of, {.kind = BootstrapKind::percentile});
}

}  // namespace

Claim distance_bound_is_safe(const Results& results) {
  Claim claim = claim_of("A", "distance_bound_is_safe", "Fig. 2a, 2b",
                         "The upper bound of Theorem 1 is never below the distance.");
  claim.theorem = true;
  claim.reading =
      "We check both bounds: the paper's (distance_bound_paper) and headgauge's tighter one.";
  claim.test = fmt::format(
      "Over all heads, at N = 5 for every L and at every N for the longest L: no bound is below "
      "the "
      "distance by more than {:g} of it (rounding).",
      kRounding);
  const BoundFactors factors = bound_factors(results);
  if (factors.paper.empty()) return not_tested(claim, kNoDistance);
  const auto below = [](const std::vector<double>& values) {
    return static_cast<double>(
        std::ranges::count_if(values, [](double factor) { return factor < 1 - kRounding; }));
  };
  const double of_paper = below(factors.paper), of_valid = below(factors.valid);
  const auto cells = static_cast<double>(factors.paper.size());
  claim.verdict = of_paper + of_valid == 0 ? Verdict::holds : Verdict::does_not_hold;
  claim.measured = fmt::format(
      "In {} of {} cells the paper's bound is below the distance, in {} headgauge's own.", of_paper,
      cells, of_valid);
  claim.facts = {{"cells", cells}, {"cells_below", of_paper}, {"cells_below_valid", of_valid}};
  return claim;
}

Claim distance_bound_is_conservative(const Results& results) {
  Claim claim = claim_of("A", "distance_bound_is_conservative", "Fig. 2a, 2b",
                         "The upper bound of Theorem 1 is conservative.");
  claim.reading =
      "We read the claim as: the bound usually exceeds the distance by at least a fifth. The bound "
      "is the paper's (distance_bound_paper); headgauge's tighter bound is shown for comparison.";
  claim.test = fmt::format(
      "The cells of distance_bound_is_safe: the 95 % interval of the median of bound/distance "
      "(bootstrap over the heads) is above {}; does not hold where it is below; else cannot tell.",
      kConservative);
  const BoundFactors factors = bound_factors(results);
  if (factors.paper.empty()) return not_tested(claim, kNoDistance);
  const double factor = median(factors.paper), tight = median(factors.valid);
  const auto [least, most] = std::ranges::minmax(factors.paper);
  const Interval interval = interval_of_all(factors.by_head);
  claim.verdict = verdict_of(place_of(interval, kConservative, HUGE_VAL));
  claim.measured = fmt::format(
      "The bound is {:.2f} times the distance in the median (interval {} to {}; cells {:.2f} to "
      "{:.3g}), headgauge's own {} times.",
      factor, shown(interval.low), shown(interval.high), least, most,
      std::isnan(tight) ? "-" : fmt::format("{:.2f}", tight));
  claim.facts = {{"factor_median", factor},
                 {"factor_median_low", interval.low},
                 {"factor_median_high", interval.high},
                 {"factor_least", least},
                 {"factor_most", most},
                 {"factor_valid_median", tight}};
  return claim;
}

Claim returns_diminish(const Results& results) {
  Claim claim = claim_of("A", "returns_diminish", "Fig. 2b",
                         "Selecting more than N = 20 tokens has diminishing returns.");
  claim.reading =
      "The return of a token is what it adds to the distance. More tokens leave fewer terms in the "
      "distance of rows with few keys, so N goes up to an eighth of L.";
  claim.test = fmt::format(
      "At the longest L, head by head: the distance per token from N = 20 to the largest N of {:g} "
      "or more (at most L/8) over that from the smallest N (at most {:g}) to 20. Holds where the "
      "95 % interval of the median head (bootstrap over the heads) is below {}, does not hold "
      "where "
      "it is above; else, or with fewer than {} heads, cannot tell.",
      kMostN, kFewN, kLessReturn, kFewestOfMedian);
  const auto longest = longest_length(results);
  const auto sizes = numbers(results, "top_n");
  const auto middle = find_label(results, "top_n", kManyN);
  Index first = -1, last = -1;
  for (std::size_t n = 0; longest && n < sizes.size(); ++n) {
    if (sizes[n] <= kFewN && first < 0) first = static_cast<Index>(n);
    if (sizes[n] >= kMostN && 8 * sizes[n] <= *longest) last = static_cast<Index>(n);
  }
  if (!middle || first < 0 || last < 0) {
    return not_tested(claim, fmt::format("N up to 5, 20 and {:g} or more are needed, the last at "
                                         "most L/8; the longest is {}: scan with "
                                         "MeasureOptions::top_n = 5,20,50 and ScanOptions::lengths "
                                         "of 400 or more.",
                                         kMostN, at_length(results)));
  }
  const double few = sizes[static_cast<std::size_t>(first)];
  const double most = sizes[static_cast<std::size_t>(last)];
  const Index length = results.coord_size("length") - 1;
  std::vector<double> shares;
  for (const HeadName& head : measured_heads(results)) {
    const auto at = [&](Index n) {
      return value_at(results, metric::distance, head, "length", length, {"top_n", n});
    };
    const auto a = at(first), b = at(*middle), c = at(last);
    if (!a || !b || !c || *b <= *a) continue;
    shares.push_back((*c - *b) / (most - kManyN) / ((*b - *a) / (kManyN - few)));
  }
  if (shares.empty()) return not_tested(claim, "No head's distance grows up to N = 20.");
  const Interval interval = interval_of_median(shares);
  claim.verdict = shares.size() < kFewestOfMedian
                      ? Verdict::cannot_tell
                      : verdict_of(place_of(interval, -HUGE_VAL, kLessReturn));
  const auto less = std::ranges::count_if(shares, [](double s) { return s <= kLessReturn; });
  claim.measured = fmt::format(
      "A token between N = 20 and {:g} adds {} ({:.2f} to {:.2f} times) what one between {:g} and "
      "20 does, in the median of {} heads whose distance grows up to 20; at most {} in {}.",
      most,
      std::abs(median(shares)) < kNothing ? "nothing of"
                                          : fmt::format("{:.2f} times", median(shares)),
      interval.low, interval.high, few, shares.size(), kLessReturn, less);
  claim.facts = {{"share_median", median(shares)},
                 {"share_median_low", interval.low},
                 {"share_median_high", interval.high},
                 {"share_most", std::ranges::max(shares)},
                 {"n_first", few},
                 {"n_last", most},
                 {"heads", static_cast<double>(shares.size())},
                 {"heads_diminishing", static_cast<double>(less)}};
  return claim;
}

namespace {

// Separability at one N and the longest L, over the heads that have it.
struct SeparabilityOf {
  double size = 0;
  std::vector<double> of_heads;  // one per head; undefined if not measured
  MeanWithError mean;
  double null = 0, sphere = 0;  // means
};

std::vector<SeparabilityOf> separability_by_size(const Results& results) {
  const auto sizes = numbers(results, "top_n");
  const Index length = longest_length(results) ? results.coord_size("length") - 1 : 0;
  std::vector<SeparabilityOf> all;
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    if (sizes[n] < kSettledFrom || sizes[n] > kSettledTo) continue;
    SeparabilityOf of;
    of.size = sizes[n];
    for (const HeadName& head : measured_heads(results)) {
      const auto at = [&](const char* metric) {
        return value_at(results, metric, head, "length", length, {"top_n", static_cast<Index>(n)})
            .value_or(kUndefined);
      };
      of.of_heads.push_back(at(metric::separability_beyond_sinks));
      if (std::isnan(of.of_heads.back())) continue;
      of.null += at(metric::separability_null_beyond_sinks);
      of.sphere += at(metric::separability_sphere);
    }
    of.mean = mean_with_error(of.of_heads);
    const std::vector<double> known = finite_values(of.of_heads);
    if (known.size() < 2) continue;
    of.null /= static_cast<double>(known.size());
    of.sphere /= static_cast<double>(known.size());
    all.push_back(std::move(of));
  }
  return all;
}

}  // namespace

Claim separability_settles(const Results& results) {
  Claim claim = claim_of("A", "separability_settles", "Fig. 3",
                         "From N = 16 on separability settles between 0.70 and 0.85.");
  claim.reading =
      "We use the mean over the heads, on the unit sphere and beyond the sinks, from N = 16 to "
      "100. "
      "The null assigns the same weights to random keys: if it lies in the same band, the band "
      "does not show what "
      "heads select. Random vectors are the paper's assumption.";
  claim.test = fmt::format(
      "At the longest L, at least 3 N from {:g} to {:g}: the 95 % interval over the heads of every "
      "mean is within {:.2f} to {:.2f}, and that of their change from first to last is within {} "
      "per "
      "doubling of N. Does not hold where one of these intervals is outside; else cannot tell.",
      kSettledFrom, kSettledTo, kSettledLow, kSettledHigh, kDrift);
  const std::vector<SeparabilityOf> all = separability_by_size(results);
  if (all.size() < 3) {
    return not_tested(claim,
                      fmt::format("Fewer than 3 N from 16 to 100 were measured at {}: scan with "
                                  "MeasureOptions::top_n = 20,50,100.",
                                  at_length(results)));
  }
  const SeparabilityOf &first = all.front(), &last = all.back();
  std::vector<double> drifts = paired_differences(last.of_heads, first.of_heads);
  for (double& drift : drifts) drift /= std::log2(last.size / first.size);
  const MeanWithError drift = mean_with_error(drifts);
  const Interval drift_interval = t_interval(drift);
  std::vector<Place> places = {place_of(drift_interval, -kDrift, kDrift)};
  for (const SeparabilityOf& of : all) {
    places.push_back(place_of(t_interval(of.mean), kSettledLow, kSettledHigh));
  }
  claim.verdict = std::ranges::count(places, Place::outside) > 0 ? Verdict::does_not_hold
                  : std::ranges::count(places, Place::open) > 0  ? Verdict::cannot_tell
                                                                 : Verdict::holds;
  claim.measured = fmt::format(
      "The mean over {} heads goes from {:.2f} at N = {:g} to {:.2f} at {:g} ({:+.3f} per "
      "doubling, {:+.3f} to {:+.3f}); with the weights permuted among the keys from {} to {}, on "
      "random vectors from {} to {}.",
      last.of_heads.size(), first.mean.value, first.size, last.mean.value, last.size, drift.value,
      drift_interval.low, drift_interval.high, shown(first.null), shown(last.null),
      shown(first.sphere), shown(last.sphere));
  for (const SeparabilityOf& of : all) {
    claim.facts.push_back({fmt::format("separability_{:g}", of.size), of.mean.value});
    claim.facts.push_back({fmt::format("separability_null_{:g}", of.size), of.null});
    claim.facts.push_back({fmt::format("separability_sphere_{:g}", of.size), of.sphere});
  }
  claim.facts.push_back({"drift_per_doubling", drift.value});
  claim.facts.push_back({"drift_low", drift_interval.low});
  claim.facts.push_back({"drift_high", drift_interval.high});
  return claim;
}

std::span<const LimitsClaim> all_limits_claims() {
  using enum LimitsClaim::Rests;
  static constexpr std::array kClaims = std::to_array<LimitsClaim>({
      {weights_are_bounded, on_places},
      {weights_vanish, on_places},
      {distance_grows_linearly, on_places_and_sinks},
      {distance_bound_is_safe, on_places_and_sinks},
      {distance_bound_is_conservative, on_places_and_sinks},
      {distance_bound_tightens, on_places_and_sinks},
      {distances_converge, on_places_and_sinks},
      {returns_diminish, on_places_and_sinks},
      {critical_n_is_small, on_places_and_sinks},
      {critical_n_grows_sublinearly, on_places_and_sinks},
      {proportional_margin_collapses, on_places_and_sinks},
      {proportional_separability_falls, on_places_and_sinks},
      {separability_settles, on_places},
      {separability_bound_tracks, on_places_and_sinks},
      {separability_bound_without_sphere, on_places_and_sinks},
      {coverage_is_independent, on_places_and_sinks},
      {gradient_bound_is_safe, on_places},
      {gradient_is_within_quarter, on_places},
      {sensitivity_follows_temperature, on_places},
      {sensitivity_falls_by_two_orders, on_places},
      {steps_agree, on_places},
      {cold_raises_the_norm_alone, on_places},
      {entropy_grows_where_separability_falls, on_places},
      {entropy_warns, on_pieces_or_cases},
      {falling_separability_warns, on_pieces_or_cases},
      {answers_are_lost_with_context, on_pieces_or_cases},
      {growing_entropy_loses_answers, on_pieces_or_cases},
      {falling_separability_loses_answers, on_pieces_or_cases},
  });
  return kClaims;
}

}  // namespace headgauge
