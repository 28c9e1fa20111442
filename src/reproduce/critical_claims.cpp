// Paper A's claims on critical N, and on sets that grow with the context (docs/reproduce.md).
#include <algorithm>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "statistics/nonparametric.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kFewestKeys = 2;  // a share of fewer keys is not tested
constexpr double kCriticalShare = 0.06;
constexpr std::size_t kFewestHeads = 16;

// Adds the result of paper A's own test, and of a paired test at the next measured N.
void say_the_papers_test(Evidence& found) {
  const auto n = find_cell(found.results, metric::critical_n_paper, {});
  const auto d = find_cell(found.results, metric::critical_ks_d, {});
  if (!n || !d) return found.say("no_paper");
  found.set({{metric::critical_n_paper, n->value}, {"ks_d", d->value}, {"ks_p", d->p}});
  if (n->is_none) return found.say("paper_rejects");
  found.say("paper");
  const auto sizes = found.numbers("top_n");
  const auto next = std::ranges::lower_bound(sizes, n->value);
  if (next != sizes.end()) {
    std::vector<double> logs;
    for (const double ratio :
         finite_values(found.ratios(metric::distance, metric::expected_distance_context,
                                    {{"top_n", next - sizes.begin()}}, Heads::without_window))) {
      logs.push_back(std::log(ratio));
    }
    found.set({{"paired_n", *next},
               {"paired_ratio", std::exp(median(logs))},
               {"paired_p_there", wilcoxon_test(logs).p}});
  }
  found.say(next == sizes.end() ? "end" : "paired");
}

// The median head's distance over Theorem 1.2's own expectation at one N of the longest L, and
// whether it is equal.
struct RatioAt {
  double n = kUndefined, ratio = kUndefined;
  Place place = Place::open;
};

// Returns the ratio at every measured N from `from` to below `to`.
std::vector<RatioAt> by_the_theorem(const Evidence& found, double from, double to) {
  const auto sizes = found.numbers("top_n");
  const double high = 1 + found.threshold("tolerance");
  std::vector<RatioAt> ratios;
  for (Index n = 0; n < std::ssize(sizes); ++n) {
    if (sizes[n] < from || sizes[n] >= to) continue;
    const auto of_heads = finite_values(found.ratios(metric::distance, metric::expected_distance,
                                                     {{"top_n", n}}, Heads::without_window));
    if (of_heads.size() < kFewestOfMedian) continue;
    ratios.push_back(
        {sizes[n], median(of_heads), place_of(interval_of_median(of_heads), 1 / high, high)});
  }
  return ratios;
}

bool everywhere(const std::vector<RatioAt>& ratios, Place place) {
  return !ratios.empty() &&
         std::ranges::all_of(ratios, [&](const RatioAt& at) { return at.place == place; });
}

bool somewhere(const std::vector<RatioAt>& ratios, Place place) {
  return std::ranges::count(ratios, place, &RatioAt::place) > 0;
}

// Judges all measured N beyond 6 % of the longest L: are they equal (`alike`), or do they become
// different from what they are below?
void beyond_six_percent(Evidence& found, bool alike) {
  found.need_heads_without_window();
  const auto longest = longest_length(found.results);
  const double limit = longest ? kCriticalShare * *longest : HUGE_VAL;
  const auto below = by_the_theorem(found, 0, limit);
  const auto beyond = by_the_theorem(found, limit, HUGE_VAL);
  found.need(!beyond.empty(), "sizes");
  const bool equal = everywhere(beyond, Place::inside), apart = everywhere(beyond, Place::outside);
  const bool becomes = apart && somewhere(below, Place::inside);
  const bool stays = equal || everywhere(below, Place::outside);
  found.verdict = verdict_if(alike ? equal : becomes, alike ? apart : stays);
  const RatioAt &first = beyond.front(), &last = beyond.back();
  found.set({{"length", *longest},
             {"first_n", first.n},
             {"share", 100 * first.n / *longest},
             {"ratio_first", first.ratio},
             {"last_n", last.n},
             {"ratio_last", last.ratio}});
  if (!below.empty()) found.set({{"n", below.back().n}, {"ratio_below", below.back().ratio}});
  found.set_word("below_it", below.empty() ? "" : found.text("below"));
}

constexpr double kShare = 0.1;        // share that is judged
constexpr double kFromContext = 128;  // in shorter contexts a tenth of the keys is only a handful

Pick judged_share(Evidence& found) {
  const auto judged = find_label(found.results, "top_share", kShare);
  found.need(judged.has_value(), "share");
  found.set("share", kShare);
  return {"top_share", *judged};
}

}  // namespace

void critical_n_is_small(Evidence& found) {
  const auto cell = find_cell(found.results, metric::critical_n, {});
  const auto longest = longest_length(found.results), searched = critical_range(found.results);
  found.need(cell && longest && searched, "no_critical_n");
  const std::size_t heads = found.heads(Heads::without_window).size();
  const double limit = kCriticalShare * *longest;
  found.set({{"length", *longest}, {"searched", *searched}, {"heads", heads}, {"limit", limit}});
  found.need(heads >= kFewestHeads, "few_heads");
  found.need(limit >= kFewestKeys, "few_keys");
  const auto by_n = by_the_theorem(found, 0, limit);
  found.need(!by_n.empty(), "sizes");
  RatioAt theorem;  // where the ratio is closest to 1
  for (const RatioAt& at : by_n) {
    if (!(std::abs(std::log(at.ratio)) >= std::abs(std::log(theorem.ratio)))) theorem = at;
  }
  found.verdict = verdict_if(somewhere(by_n, Place::inside), everywhere(by_n, Place::outside));
  found.set({{"theorem_ratio", theorem.ratio},
             {"theorem_n", theorem.n},
             {metric::critical_n, cell->value},
             {"critical_p", cell->p}});
  const auto name = [&](const char* metric) {
    const auto closest = find_cell(found.results, metric, {}).value_or(MetricCell());
    found.set(metric, closest.value);
    found.set(metric, Interval{closest.low, closest.high});
    return closest.value;
  };
  found.set("closest_share", 100 * name(metric::closest_n) / *longest);
  name(metric::closest_ratio);
  name(metric::closest_n_exponent);
  found.set({{"searched_share", 100.0 * *searched / *longest},
             {"critical_share", 100 * cell->value / *longest}});
  found.set_word("meet", found.text(cell->is_none ? "nowhere" : "somewhere"));
  say_the_papers_test(found);
}

void critical_n_grows_sublinearly(Evidence& found) {
  found.need_heads_without_window();
  bool exists = false;
  for (Index l = 0; l < std::ssize(found.numbers("length")); ++l) {
    const auto cell = find_cell(found.results, metric::critical_n, {{"length", l}});
    exists = exists || (cell && !cell->is_none);
  }
  found.need(exists || found.results.metric(metric::critical_n) == nullptr, "nowhere");
  const auto exponent = find_cell(found.results, metric::closest_n_exponent, {});
  found.need(exponent && exponent->has_interval(), "lengths");
  found.verdict = verdict_if(exponent->high < 1, exponent->low >= 1);
  found.set({{"exponent", exponent->value}, {"low", exponent->low}, {"high", exponent->high}});
}

void beyond_six_percent_alike(Evidence& found) {
  beyond_six_percent(found, true);
}

void beyond_six_percent_apart(Evidence& found) {
  beyond_six_percent(found, false);
}

void proportional_margin_collapses(Evidence& found) {
  const Pick share = judged_share(found);
  judge_powers(found, metric::margin_at_share, share, -HUGE_VAL, found.threshold("exponent"));
}

// Compares the first bin whose rows have at least kFromContext keys with the last bin.
void proportional_separability_falls(Evidence& found) {
  const Pick share = judged_share(found);
  std::vector<double> first, last;
  for (const HeadName& head : found.heads(Heads::without_window)) {
    const Growth growth =
        growth_of(found.results, metric::separability_excess_at_share, head, share);
    const auto from = std::ranges::lower_bound(growth.context, kFromContext);
    const auto place = from - growth.context.begin();
    if (place + 1 >= std::ssize(growth.value)) continue;
    first.push_back(growth.value[place]);
    last.push_back(growth.value.back());
  }
  found.set("heads", first.size());
  found.need(std::ssize(first) >= kFewestVotes, "bins");
  const TTest change = paired_t_test(last, first);
  judge_estimate(found,
                 {.value = change.difference,
                  .standard_error = change.standard_error,
                  .degrees_of_freedom = change.degrees_of_freedom},
                 -HUGE_VAL, found.threshold("change"));
  const bool has_excess = t_interval(mean_with_error(first)).low > 0;
  if (!has_excess) found.verdict = Verdict::cannot_tell;
  found.set_word("nothing", has_excess ? "" : "There is no excess to lose. ");
  found.set({{"first", mean_with_error(first).value}, {"last", mean_with_error(last).value}});
}

}  // namespace headgauge
