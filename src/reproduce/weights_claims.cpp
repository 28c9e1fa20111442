// Paper A's claims on vanishing weights and on heads that complement each other
// (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/scan_values.hpp"

namespace headgauge {
namespace {

constexpr double kFalling = -1e-6;  // an exponent below this is negative beyond rounding
constexpr double kMiddleN = 20;
constexpr double kRoundingOfLogs = 1e-4;  // of logarithms of weights in single precision

}  // namespace

Claim weights_are_bounded(const Results& results, const Thresholds&) {
  Claim claim;
  std::vector<double> shares;
  const Index lengths = std::ssize(numbers(results, "length"));
  for (const HeadName& head : measured_heads(results)) {
    for (Index l = 0; l < lengths; ++l) {
      const auto share = value_at(results, metric::weight_bound_use, head, "length", l, {});
      if (share) shares.push_back(*share);
    }
  }
  if (shares.empty()) {
    return not_tested(
        "The weights were not measured, or are not those of softmax: scan with "
        "ScanOptions::measures = weights.");
  }
  const auto [least, most] = std::ranges::minmax(shares);
  const bool within = least >= -kRoundingOfLogs && most <= 1 + kRoundingOfLogs;
  claim.verdict = within ? Verdict::holds : Verdict::does_not_hold;
  claim.measured = fmt::format(
      "The largest weight uses {:.2f} of the exponent in the median of {} cells ({:.2f} to "
      "{:.2f}).",
      median(shares), shares.size(), least, most);
  claim.facts = {{"use_median", median(shares)}, {"use_least", least}, {"use_most", most}};
  return claim;
}

Claim weights_vanish(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const double high = -1 / (1 + thresholds.at("tolerance")), low = 1 / high;
  const HeadPowers powers = powers_of_heads(results, metric::max_weight_with_sinks, {"top_n", 0}, low, high);
  const HeadVotes& votes = powers.votes;
  int slower = 0, falling = 0;
  for (const Estimate& exponent : powers.exponents) {
    const Place place = place_of(exponent, low, high);
    slower += place == Place::outside && exponent.value > high ? 1 : 0;
    falling += place_of(exponent, -HUGE_VAL, kFalling) == Place::inside ? 1 : 0;
  }
  const std::vector<double> exponents = powers.values();
  if (exponents.empty()) return not_tested(too_few_points("weights"));
  const auto [least, most] = std::ranges::minmax(exponents);
  claim.verdict = votes.verdict(thresholds.at("heads"));
  claim.measured = fmt::format(
      "The median exponent of the largest weight is {:.2f} ({:.2f} to {:.2f}): of {} heads {} "
      "vanish as 1/L, {} more slowly, {} are undecided; that it falls at all is shown for {}.",
      median(exponents), least, most, votes.all(), votes.yes, slower, votes.open, falling);
  claim.facts = {{"median_exponent", median(exponents)},
                 {"exponent_least", least},
                 {"exponent_most", most},
                 {"heads", static_cast<double>(votes.all())},
                 {"heads_as_stated", static_cast<double>(votes.yes)},
                 {"heads_slower", static_cast<double>(slower)},
                 {"heads_falling", static_cast<double>(falling)}};
  return claim;
}

Claim coverage_is_independent(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const auto sizes = numbers(results, "top_n");
  Index n = -1;
  for (std::size_t i = 0; i < sizes.size() && sizes[i] <= kMiddleN; ++i) n = static_cast<Index>(i);
  const Index layers = results.coord("layer") == nullptr ? 0 : results.coord_size("layer");
  const double margin = thresholds.at("tolerance");
  HeadVotes votes;
  std::vector<double> measured, printed, apart;
  for (Index layer = 0; n >= 0 && layer < layers; ++layer) {
    const auto own = find_cell(results, metric::union_coverage, {{"layer", layer}, {"top_n", n}});
    const auto paper =
        find_cell(results, metric::union_coverage_paper, {{"layer", layer}, {"top_n", n}});
    if (!own || !paper) continue;
    measured.push_back(own->value);
    printed.push_back(paper->value);
    const auto independent =
        find_cell(results, metric::union_coverage_independent, {{"layer", layer}, {"top_n", n}});
    if (independent) apart.push_back(independent->value);
    votes.add(place_of(Estimate{.value = own->value,
                                .standard_error = own->standard_error,
                                .degrees_of_freedom = own->degrees_of_freedom},
                       paper->value - margin, paper->value + margin));
  }
  if (votes.all() < kFewestVotes) {
    return not_tested(
        fmt::format("The coverage of {} layers was measured, of {} that are needed: "
                    "scan with ScanOptions::measures = coverage.",
                    votes.all(), kFewestVotes));
  }
  claim.verdict = votes.verdict(thresholds.at("layers"));
  claim.measured = fmt::format(
      "At N = {:g} the layers cover {:.3f} of what they select in the median, the formula says "
      "{:.3f}, and independent heads with these sets would cover {}; {} of {} layers are within {} "
      "of it, {} are not, {} are undecided.",
      sizes[static_cast<std::size_t>(n)], median(measured), median(printed), shown(median(apart)),
      votes.yes, votes.all(), margin, votes.no, votes.open);
  claim.facts = {{"median_coverage", median(measured)},
                 {"formula_median", median(printed)},
                 {"layers", static_cast<double>(votes.all())},
                 {"layers_within", static_cast<double>(votes.yes)}};
  return claim;
}

Claim queries_select_independently(const Results& results, const Thresholds& thresholds) {
  const auto n = find_label(results, "top_n", kMiddleN);
  std::vector<double> differences, own, random, distinct;
  for (const HeadName& head : n ? measured_heads(results) : std::vector<HeadName>()) {
    const auto at = [&](const char* metric) {
      const auto cell = find_cell(
          results, metric, {{"layer", head.layer_index}, {"head", head.head_index}, {"top_n", *n}});
      return cell ? cell->value : kUndefined;
    };
    own.push_back(at(metric::query_overlap));
    random.push_back(at(metric::query_overlap_random));
    distinct.push_back(at(metric::query_distinct) / at(metric::query_distinct_random));
    differences.push_back(own.back() - random.back());
  }
  differences = finite_values(differences);
  if (differences.size() < kFewestOfMedian) {
    return not_tested(
        "Fewer than 8 heads have sets of several queries: scan with ScanOptions::measures = "
        "coverage and MeasureOptions::top_n = 20.");
  }
  const Interval interval = interval_of_median(differences);
  Claim claim;
  claim.verdict =
      verdict_of(place_of(interval, -thresholds.at("overlap"), thresholds.at("overlap")));
  claim.measured = fmt::format(
      "In the median of {} heads two queries share {:.2f} of their 20 keys, random sets {:.2f} (a "
      "difference of {:.2f} to {:.2f}); all together select {:.2f} times as many distinct keys as "
      "random sets.",
      differences.size(), median(finite_values(own)), median(finite_values(random)), interval.low,
      interval.high, median(finite_values(distinct)));
  claim.facts = {{"overlap_above_random", median(differences)},
                 {"low", interval.low},
                 {"high", interval.high},
                 {"overlap", median(finite_values(own))},
                 {"overlap_random", median(finite_values(random))},
                 {"distinct_of_random", median(finite_values(distinct))}};
  return claim;
}

}  // namespace headgauge
