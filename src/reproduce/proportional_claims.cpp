// Paper A's claim on sets that grow with the context (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/scan_values.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kShare = 0.1;        // share that is judged
constexpr double kFromContext = 128;  // in shorter contexts a tenth of the keys is only a handful

// Returns a metric over the heads in the first bin whose rows have at least kFromContext keys, and
// in the last bin.
struct FirstAndLast {
  std::vector<double> first, last;
};
FirstAndLast first_and_last(const Results& results, const std::string& metric, Index share) {
  FirstAndLast found;
  for (const HeadName& head : heads_of(results, Heads::without_window)) {
    const Growth growth = growth_of(results, metric, head, {"top_share", share});
    const auto from = std::ranges::lower_bound(growth.context, kFromContext);
    const auto place = from - growth.context.begin();
    if (place + 1 >= std::ssize(growth.value)) continue;
    found.first.push_back(growth.value[place]);
    found.last.push_back(growth.value.back());
  }
  return found;
}

std::string not_selected_by_share() {
  return "No sets were selected by share: scan with MeasureOptions::top_share = 0.1 and "
         "ScanOptions::lengths up to 256 or more.";
}

}  // namespace

Claim proportional_margin_collapses(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const auto judged = find_label(results, "top_share", kShare);
  if (!judged) return not_tested(not_selected_by_share());
  const HeadPowers powers =
      powers_of_heads(results, metric::margin_at_share, {"top_share", *judged}, -HUGE_VAL,
                      thresholds.at("exponent"));
  const HeadVotes& votes = powers.votes;
  const std::vector<double> exponents = powers.values();
  if (exponents.empty()) return not_tested(too_few_points("proportion"));
  claim.verdict = votes.verdict(thresholds.at("heads"));
  const auto [least, most] = std::ranges::minmax(exponents);
  claim.measured = fmt::format(
      "At N = {} L the median exponent of the margin is {:.2f} ({:.2f} to {:.2f}): it collapses in "
      "{} of {} heads, does not in {}, {} are undecided.",
      kShare, median(exponents), least, most, votes.yes, votes.all(), votes.no, votes.open);
  claim.facts.push_back({"median_exponent", median(exponents)});
  claim.facts.push_back({"heads", static_cast<double>(votes.all())});
  claim.facts.push_back({"heads_collapsing", static_cast<double>(votes.yes)});
  return claim;
}

Claim proportional_separability_falls(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const auto judged = find_label(results, "top_share", kShare);
  if (!judged) return not_tested(not_selected_by_share());
  const std::string metric = metric::separability_excess_at_share;
  const FirstAndLast found = first_and_last(results, metric, *judged);
  const auto heads = static_cast<int>(found.first.size());
  if (heads < kFewestVotes) {
    return not_tested(fmt::format("{} heads have two bins of L from 128 on.", heads));
  }
  const TTest change = paired_t_test(found.last, found.first);
  const Interval interval =
      t_interval({change.difference, change.standard_error, change.degrees_of_freedom});
  const bool has_excess = t_interval(mean_with_error(found.first)).low > 0;
  claim.verdict = has_excess ? verdict_of(place_of(interval, -HUGE_VAL, thresholds.at("change")))
                             : Verdict::cannot_tell;
  claim.measured = fmt::format(
      "{}At N = {} L the mean excess over {} heads goes from {:.3f} to {:.3f}, by {:+.3f} ({:+.3f} "
      "to {:+.3f}).",
      has_excess ? "" : "There is no excess to lose. ", kShare, heads,
      mean_with_error(found.first).value, mean_with_error(found.last).value, change.difference,
      interval.low, interval.high);
  claim.facts = {{"change", change.difference}, {"low", interval.low}, {"high", interval.high}};
  return claim;
}

}  // namespace headgauge
