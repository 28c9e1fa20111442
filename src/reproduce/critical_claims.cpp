// Paper A's claims on critical N (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/scan_values.hpp"
#include "statistics/student.hpp"
#include "statistics/wilcoxon.hpp"

namespace headgauge {
namespace {

constexpr double kFewestKeys = 2;  // a share of fewer keys is not tested
constexpr double kCriticalShare = 0.06;
constexpr std::size_t kFewestHeads = 16;

// Returns the result of paper A's own test, and of a paired test at the next measured N.
std::string by_the_papers_test(const Results& results, Claim& claim) {
  const auto n = find_cell(results, metric::critical_n_paper, {});
  const auto d = find_cell(results, metric::critical_ks_d, {});
  if (!n || !d) return "The paper's test was not run.";
  claim.facts.push_back({metric::critical_n_paper, n->value});
  claim.facts.push_back({"ks_d", d->value});
  claim.facts.push_back({"ks_p", d->p});
  if (n->is_none) {
    return fmt::format("The paper's test rejects every N searched (D = {:.2f}, p = {:.2g}).",
                       d->value, d->p);
  }
  std::string text = fmt::format(
      "The paper's test no longer rejects at N = {} (D = {:.2f}, p = {:.2g}), but takes the same "
      "heads as two independent samples",
      n->value, d->value, d->p);
  const auto sizes = numbers(results, "top_n");
  const Index length = results.coord_size("length") - 1;
  const auto next = std::ranges::lower_bound(sizes, n->value);
  if (next == sizes.end()) return text + ".";
  std::vector<double> logs;
  for (const double ratio :
       finite_values(ratios(results, Heads::without_window, metric::distance,
                            metric::expected_distance_context, length, next - sizes.begin()))) {
    logs.push_back(std::log(ratio));
  }
  const WilcoxonTest paired = wilcoxon_test(logs);
  claim.facts.push_back({"paired_p_there", paired.p});
  return fmt::format("{}: at N = {} the median ratio is {:.3f} and a paired test has p = {:.2g}.",
                     text, *next, std::exp(median(logs)), paired.p);
}

// The median head's distance over Theorem 1.2's own expectation at one N of the longest L, and
// whether it is equal.
struct RatioAt {
  double n = kUndefined, ratio = kUndefined;
  Place place = Place::open;
};

// Returns the ratio at every measured N from `from` to below `to`.
std::vector<RatioAt> by_the_theorem(const Results& results, double from, double to,
                                    double tolerance) {
  const auto sizes = numbers(results, "top_n");
  std::vector<RatioAt> found;
  for (Index n = 0; n < std::ssize(sizes); ++n) {
    if (sizes[n] < from || sizes[n] >= to) continue;
    const auto of_heads =
        finite_values(ratios(results, Heads::without_window, metric::distance,
                             metric::expected_distance, results.coord_size("length") - 1, n));
    if (of_heads.size() < kFewestOfMedian) continue;
    found.push_back({sizes[n], median(of_heads),
                     place_of(interval_of_median(of_heads), 1 / (1 + tolerance), 1 + tolerance)});
  }
  return found;
}

bool everywhere(const std::vector<RatioAt>& found, Place place) {
  return !found.empty() &&
         std::ranges::all_of(found, [&](const RatioAt& at) { return at.place == place; });
}

// Judges all measured N beyond 6 % of the longest L: are they equal (`alike`), or do they become
// different from what they are below?
Claim beyond_six_percent(const Results& results, const Thresholds& thresholds, bool alike) {
  if (has_windows_alone(results)) return not_tested(kWindowsAlone);
  const auto longest = longest_length(results);
  const double limit = longest ? kCriticalShare * *longest : HUGE_VAL;
  const auto below = by_the_theorem(results, 0, limit, thresholds.at("tolerance"));
  const auto found = by_the_theorem(results, limit, HUGE_VAL, thresholds.at("tolerance"));
  if (found.empty()) {
    return not_tested(
        "No N beyond 6 % of L was measured: scan with MeasureOptions::top_n = 70,100 and "
        "ScanOptions::lengths = 1024.");
  }
  Claim claim;
  const bool equal = everywhere(found, Place::inside), apart = everywhere(found, Place::outside);
  const bool becomes = apart && std::ranges::count(below, Place::inside, &RatioAt::place) > 0;
  const bool stays = equal || everywhere(below, Place::outside);
  if (alike ? equal : becomes) claim.verdict = Verdict::holds;
  if (alike ? apart : stays) claim.verdict = Verdict::does_not_hold;
  claim.measured = fmt::format(
      "The median head's distance is {} times the theorem's expectation at N = {:g}, {:.1f} % of L "
      "= {}, and {} times at N = {:g}{}.",
      shown(found.front().ratio), found.front().n, 100 * found.front().n / *longest, *longest,
      shown(found.back().ratio), found.back().n,
      below.empty() ? ""
                    : fmt::format("; below 6 % it is {} at N = {:g}", shown(below.back().ratio),
                                  below.back().n));
  claim.facts = {{"ratio_first", found.front().ratio}, {"ratio_last", found.back().ratio}};
  return claim;
}

}  // namespace

Claim critical_n_is_small(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const auto cell = find_cell(results, metric::critical_n, {});
  const auto longest = longest_length(results);
  const auto searched = critical_range(results);
  if (!cell || !longest || !searched)
    return not_tested("Critical N was not measured: scan with ScanOptions::measures = distance.");
  const auto heads = heads_of(results, Heads::without_window);
  if (heads.size() < kFewestHeads) {
    return not_tested(fmt::format("The tests mean nothing for {} heads.", heads.size()));
  }
  const double limit = kCriticalShare * *longest;
  if (limit < kFewestKeys) {
    return not_tested(fmt::format("6 % of L = {} are {:.1f} keys.", *longest, limit));
  }
  const auto of = [&](const char* metric) {
    return find_cell(results, metric, {}).value_or(MetricCell{{}, metric});
  };
  const MetricCell closest = of(metric::closest_n), ratio = of(metric::closest_ratio),
                   exponent = of(metric::closest_n_exponent);
  const auto by_n = by_the_theorem(results, 0, limit, thresholds.at("tolerance"));
  if (by_n.empty()) {
    return not_tested(
        "No N below 6 % of L was measured: scan with MeasureOptions::top_n = 5,20,50 and "
        "ScanOptions::lengths = 1024.");
  }
  RatioAt theorem;  // where the ratio is closest to 1
  for (const RatioAt& at : by_n) {
    if (!(std::abs(std::log(at.ratio)) >= std::abs(std::log(theorem.ratio)))) theorem = at;
  }
  const bool meets = std::ranges::count(by_n, Place::inside, &RatioAt::place) > 0;
  claim.verdict = meets                              ? Verdict::holds
                  : everywhere(by_n, Place::outside) ? Verdict::does_not_hold
                                                     : Verdict::cannot_tell;
  const std::string what =
      cell->is_none
          ? fmt::format("no N up to {} of L = {} ({:.1f} %) is shown to be equal", *searched,
                        *longest, 100.0 * *searched / *longest)
          : fmt::format("the heads are first shown to be equal at N = {} of L = {}, {:.1f} %",
                        cell->value, *longest, 100 * cell->value / *longest);
  claim.facts = {{"theorem_ratio", theorem.ratio},
                 {"theorem_n", theorem.n},
                 {"length", static_cast<double>(*longest)},
                 {"searched", static_cast<double>(*searched)},
                 {"heads", static_cast<double>(heads.size())},
                 {metric::critical_n, cell->value},
                 {"critical_p", cell->p}};
  for (const MetricCell& found : {closest, ratio, exponent}) {
    claim.facts.push_back({found.metric, found.value});
    claim.facts.push_back({found.metric + "_low", found.low});
    claim.facts.push_back({found.metric + "_high", found.high});
  }
  claim.measured = fmt::format(
      "Below 6 % of L the median head's distance is at best {} times the theorem's expectation, at "
      "N = {}. In the reading \"context\": {}; the median over the heads is closest at N = {} ({} "
      "to {}), {:.1f} % of L, with a ratio of {} ({} to {}). {}",
      shown(theorem.ratio), shown(theorem.n), what, shown(closest.value), shown(closest.low),
      shown(closest.high), 100 * closest.value / *longest, shown(ratio.value), shown(ratio.low),
      shown(ratio.high), by_the_papers_test(results, claim));
  return claim;
}

Claim critical_n_grows_sublinearly(const Results& results, const Thresholds&) {
  Claim claim;
  if (has_windows_alone(results)) return not_tested(kWindowsAlone);
  bool exists = false;
  for (Index l = 0; l < std::ssize(numbers(results, "length")); ++l) {
    const auto cell = find_cell(results, metric::critical_n, {{"length", l}});
    exists = exists || (cell && !cell->is_none);
  }
  if (!exists && results.metric(metric::critical_n) != nullptr) {
    return not_tested("Critical N exists at no length, in the reading \"context\".");
  }
  const auto exponent = find_cell(results, metric::closest_n_exponent, {});
  if (!exponent || !exponent->has_interval()) {
    return not_tested(
        "Fewer than 3 lengths, or fewer than 8 heads, have a closest N: scan with "
        "ScanOptions::lengths = 128,256,512,1024.");
  }
  claim.verdict = exponent->high < 1   ? Verdict::holds
                  : exponent->low >= 1 ? Verdict::does_not_hold
                                       : Verdict::cannot_tell;
  claim.measured = fmt::format("closest_n grows as L to the power {:.2f} ({:.2f} to {:.2f}).",
                               exponent->value, exponent->low, exponent->high);
  claim.facts = {{"exponent", exponent->value}, {"low", exponent->low}, {"high", exponent->high}};
  return claim;
}

Claim beyond_six_percent_alike(const Results& results, const Thresholds& thresholds) {
  return beyond_six_percent(results, thresholds, true);
}

Claim beyond_six_percent_apart(const Results& results, const Thresholds& thresholds) {
  return beyond_six_percent(results, thresholds, false);
}

}  // namespace headgauge
