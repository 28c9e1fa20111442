// Paper A's claims on distances, critical N and separability (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/scan_values.hpp"
#include "statistics/bootstrap.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kFixedN = 5;       // N of Fig. 2a
constexpr double kRounding = 1e-4;  // relative, for means of single-precision distances
constexpr double kFewN = 5, kManyN = 20, kMostN = 50;
constexpr double kNothing = 0.005;  // of what a token adds; it rounds to 0.00
constexpr double kSettledFrom = 16, kSettledTo = 100;
constexpr double kSettledLow = 0.70, kSettledHigh = 0.85;

std::string at_length(const Results& results) {
  const auto longest = longest_length(results);
  return longest ? fmt::format("L = {}", *longest) : "no length";
}

}  // namespace

Claim distance_grows_linearly(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const auto n = find_label(results, "top_n", kFixedN);
  if (!n) return not_tested("N = 5 was not measured: scan with MeasureOptions::top_n = 5.");
  const double high = 1 + thresholds.at("tolerance"), low = 1 / high;
  const HeadPowers powers = powers_of_heads(results, metric::distance, {"top_n", *n}, low, high);
  const HeadVotes& votes = powers.votes;
  int slower = 0, faster = 0;
  for (const Estimate& exponent : powers.exponents) {
    if (place_of(exponent, low, high) != Place::outside) continue;
    ++(exponent.value < 1 ? slower : faster);
  }
  const std::vector<double> exponents = powers.values();
  if (exponents.empty()) return not_tested(too_few_points(metric::distance));
  claim.verdict = votes.verdict(thresholds.at("heads"));
  const auto [least, most] = std::ranges::minmax(exponents);
  claim.measured = fmt::format(
      "The median exponent is {:.2f} ({:.2f} to {:.2f}): of {} heads {} grow linearly, {} more "
      "slowly, {} faster, {} are undecided.",
      median(exponents), least, most, votes.all(), votes.yes, slower, faster, votes.open);
  claim.facts = {{"median_exponent", median(exponents)},
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

Claim distance_bound_is_safe(const Results& results, const Thresholds&) {
  Claim claim;
  const BoundFactors factors = bound_factors(results);
  if (factors.paper.empty()) return not_tested(kNoDistance);
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

Claim distance_bound_is_conservative(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const BoundFactors factors = bound_factors(results);
  if (factors.paper.empty()) return not_tested(kNoDistance);
  const double factor = median(factors.paper), tight = median(factors.valid);
  const auto [least, most] = std::ranges::minmax(factors.paper);
  const Interval interval = interval_of_all(factors.by_head);
  claim.verdict = verdict_of(place_of(interval, thresholds.at("factor"), HUGE_VAL));
  claim.measured = fmt::format(
      "The bound is {:.2f} times the distance in the median (interval {} to {}; cells {:.2f} to "
      "{:.3g}), headgauge's own {} times.",
      factor, shown(interval.low), shown(interval.high), least, most,
      std::isnan(tight) ? "-" : fmt::format("{:.2f}", tight));
  claim.facts = {{"median_factor", factor},
                 {"factor_median_low", interval.low},
                 {"factor_median_high", interval.high},
                 {"factor_least", least},
                 {"factor_most", most},
                 {"factor_valid_median", tight}};
  return claim;
}

Claim returns_diminish(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const auto longest = longest_length(results);
  const auto sizes = numbers(results, "top_n");
  const auto middle = find_label(results, "top_n", kManyN);
  Index first = -1, last = -1;
  for (std::size_t n = 0; longest && n < sizes.size(); ++n) {
    if (sizes[n] <= kFewN && first < 0) first = static_cast<Index>(n);
    if (sizes[n] >= kMostN && 8 * sizes[n] <= *longest) last = static_cast<Index>(n);
  }
  if (!middle || first < 0 || last < 0) {
    return not_tested(
        fmt::format("N up to 5, 20 and {:g} or more are needed, the last at "
                    "most L/8; the longest is {}: scan with MeasureOptions::top_n = 5,20,50 and "
                    "ScanOptions::lengths of 400 or more.",
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
  if (shares.empty()) return not_tested("No head's distance grows up to N = 20.");
  const Interval interval = interval_of_median(shares);
  claim.verdict = shares.size() < kFewestOfMedian
                      ? Verdict::cannot_tell
                      : verdict_of(place_of(interval, -HUGE_VAL, thresholds.at("share")));
  const auto less =
      std::ranges::count_if(shares, [&](double s) { return s <= thresholds.at("share"); });
  claim.measured = fmt::format(
      "A token between N = 20 and {:g} adds {} ({:.2f} to {:.2f} times) what one between {:g} and "
      "20 does, in the median of {} heads whose distance grows up to 20; at most {} in {}.",
      most,
      std::abs(median(shares)) < kNothing ? "nothing of"
                                          : fmt::format("{:.2f} times", median(shares)),
      interval.low, interval.high, few, shares.size(), thresholds.at("share"), less);
  claim.facts = {{"median_share", median(shares)},
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
  MeanWithError mean, null, sphere;
  MeanWithError distinct;  // excess with each vector counted once
};

std::vector<SeparabilityOf> separability_by_size(const Results& results) {
  const auto sizes = numbers(results, "top_n");
  const Index length = longest_length(results) ? results.coord_size("length") - 1 : 0;
  std::vector<SeparabilityOf> all;
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    if (sizes[n] < kSettledFrom || sizes[n] > kSettledTo) continue;
    SeparabilityOf of;
    of.size = sizes[n];
    const auto of_heads = [&](const char* metric) {
      std::vector<double> values;
      for (const HeadName& head : measured_heads(results)) {
        values.push_back(
            value_at(results, metric, head, "length", length, {"top_n", static_cast<Index>(n)})
                .value_or(kUndefined));
      }
      return values;
    };
    of.of_heads = of_heads(metric::separability);
    of.mean = mean_with_error(of.of_heads);
    of.null = mean_with_error(of_heads(metric::separability_null));
    of.sphere = mean_with_error(of_heads(metric::separability_sphere));
    of.distinct = mean_with_error(of_heads(metric::separability_excess_distinct));
    if (finite_values(of.of_heads).size() < 2) continue;
    all.push_back(std::move(of));
  }
  return all;
}

std::string too_few_sizes(const Results& results) {
  return fmt::format(
      "Fewer than 3 N from 16 to 100 were measured at {}: scan with MeasureOptions::top_n = "
      "20,50,100.",
      at_length(results));
}

}  // namespace

Claim separability_settles(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const std::vector<SeparabilityOf> all = separability_by_size(results);
  if (all.size() < 3) return not_tested(too_few_sizes(results));
  const SeparabilityOf &first = all.front(), &last = all.back();
  std::vector<double> drifts = paired_differences(last.of_heads, first.of_heads);
  for (double& drift : drifts) drift /= std::log2(last.size / first.size);
  const MeanWithError drift = mean_with_error(drifts);
  const Interval drift_interval = t_interval(drift);
  std::vector<Place> places = {
      place_of(drift_interval, -thresholds.at("drift"), thresholds.at("drift"))};
  for (const SeparabilityOf& of : all) {
    places.push_back(place_of(t_interval(of.mean), kSettledLow, kSettledHigh));
  }
  claim.verdict = verdict_of(places);
  claim.measured = fmt::format(
      "Beyond the sinks the mean over {} heads goes from {:.2f} at N = {:g} to {:.2f} at {:g} "
      "({:+.3f} per doubling, {:+.3f} to {:+.3f}); with the weights permuted among these keys from "
      "{} to {}, on "
      "random vectors in place of all keys from {} to {}.",
      last.of_heads.size(), first.mean.value, first.size, last.mean.value, last.size, drift.value,
      drift_interval.low, drift_interval.high, shown(first.null.value), shown(last.null.value),
      shown(first.sphere.value), shown(last.sphere.value));
  if (!std::isnan(first.distinct.value)) {
    claim.measured += fmt::format(
        " At N = {:g} it exceeds permuted weights by {:+.3f}, with each vector counted once by "
        "{:+.3f}.",
        first.size, first.mean.value - first.null.value, first.distinct.value);
  }
  for (const SeparabilityOf& of : all) {
    claim.facts.push_back({fmt::format("separability_{:g}", of.size), of.mean.value});
    claim.facts.push_back({fmt::format("separability_null_{:g}", of.size), of.null.value});
    claim.facts.push_back({fmt::format("separability_sphere_{:g}", of.size), of.sphere.value});
    claim.facts.push_back({fmt::format("excess_distinct_{:g}", of.size), of.distinct.value});
  }
  claim.facts.push_back({"drift_per_doubling", drift.value});
  claim.facts.push_back({"drift_low", drift_interval.low});
  claim.facts.push_back({"drift_high", drift_interval.high});
  return claim;
}

Claim sphere_reaches_the_band(const Results& results, const Thresholds&) {
  const std::vector<SeparabilityOf> all = separability_by_size(results);
  if (all.size() < 3) return not_tested(too_few_sizes(results));
  Claim claim;
  std::vector<Place> places;
  for (const SeparabilityOf& of : all) {
    places.push_back(place_of(t_interval(of.sphere), kSettledLow, kSettledHigh));
    claim.facts.push_back({fmt::format("separability_sphere_{:g}", of.size), of.sphere.value});
  }
  claim.verdict = verdict_of(places);
  claim.measured = fmt::format(
      "With random points of a sphere in place of the keys separability is {:.2f} at N = {:g} and "
      "{:.2f} at {:g}, in the mean of {} heads.",
      all.front().sphere.value, all.front().size, all.back().sphere.value, all.back().size,
      all.front().of_heads.size());
  return claim;
}

}  // namespace headgauge
