// Paper A's claims on distances and separability (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "statistics/bootstrap.hpp"

namespace headgauge {
namespace {

constexpr double kFixedN = 5;       // N of Fig. 2a
constexpr double kRounding = 1e-4;  // relative, for means of single-precision distances
constexpr double kFewN = 5, kManyN = 20, kMostN = 50;
constexpr double kNothing = 0.005;  // of what a token adds; it rounds to 0.00
constexpr double kSettledFrom = 16, kSettledTo = 100;
constexpr double kSettledLow = 0.70, kSettledHigh = 0.85;

void name_longest(Evidence& found) {
  const auto longest = longest_length(found.results);
  found.set_word("longest", longest ? fmt::format("L = {}", *longest) : "no length");
}

// The ratios of the paper's bound and of headgauge's own to the distance: at N = 5 for every L, and
// at every N for the longest L.
struct BoundFactors {
  std::vector<double> paper, valid;
  std::vector<std::vector<double>> by_head;  // ratios of the paper's bound
};
BoundFactors bound_factors(const Evidence& found) {
  const auto lengths = found.numbers("length"), sizes = found.numbers("top_n");
  BoundFactors factors;
  factors.by_head.resize(found.heads().size());
  for (Index l = 0; l < std::ssize(lengths); ++l) {
    for (Index n = 0; n < std::ssize(sizes); ++n) {
      if (sizes[n] != kFixedN && l + 1 < std::ssize(lengths)) continue;
      const auto of = [&](const char* bound) {
        return over(found.of_heads(bound, {{"length", l}, {"top_n", n}}),
                    found.of_heads(metric::distance, {{"length", l}, {"top_n", n}}));
      };
      const auto paper = of(metric::distance_bound_paper), valid = of(metric::distance_bound);
      for (std::size_t h = 0; h < paper.size(); ++h) {
        if (!std::isfinite(paper[h])) continue;
        factors.paper.push_back(paper[h]);
        factors.by_head[h].push_back(paper[h]);
        if (!std::isnan(valid[h])) factors.valid.push_back(valid[h]);
      }
    }
  }
  found.need(!factors.paper.empty(), "no_distance");
  return factors;
}

// The 95 % interval of the median of all values, by bootstrap over the heads.
Interval interval_of_all(const std::vector<std::vector<double>>& by_head) {
  const auto median_of_drawn = [&](std::span<const Index> heads) {
    std::vector<double> all;
    for (const Index head : heads) {
      all.insert(all.end(), by_head[head].begin(), by_head[head].end());
    }
    return median(std::move(all));
  };
  return bootstrap_interval(std::ssize(by_head), median_of_drawn,
                            {.kind = BootstrapKind::percentile});
}

// Separability at one N and the longest L, over the heads that have it.
struct SeparabilityOf {
  double size = 0;
  std::vector<double> of_heads;  // one per head; undefined if not measured
  MeanWithError mean, null, sphere;
  MeanWithError distinct;  // excess with each vector counted once
};

// Returns at least 3 sizes.
std::vector<SeparabilityOf> separability_by_size(Evidence& found) {
  const auto sizes = found.numbers("top_n");
  std::vector<SeparabilityOf> all;
  for (Index n = 0; n < std::ssize(sizes); ++n) {
    if (sizes[n] < kSettledFrom || sizes[n] > kSettledTo) continue;
    const auto of = [&](const char* metric) { return found.of_heads(metric, {{"top_n", n}}); };
    const auto of_heads = of(metric::separability);
    if (finite_values(of_heads).size() < 2) continue;
    all.push_back({sizes[n], of_heads, mean_with_error(of_heads),
                   mean_with_error(of(metric::separability_null)),
                   mean_with_error(of(metric::separability_sphere)),
                   mean_with_error(of(metric::separability_excess_distinct))});
  }
  name_longest(found);
  found.need(all.size() >= 3, "sizes");
  const SeparabilityOf &first = all.front(), &last = all.back();
  found.set({{"heads", last.of_heads.size()},
             {"first_n", first.size},
             {"last_n", last.size},
             {"first_sphere", first.sphere.value},
             {"last_sphere", last.sphere.value}});
  for (const SeparabilityOf& of : all) {
    found.set({{fmt::format("separability_{:g}", of.size), of.mean.value},
               {fmt::format("separability_null_{:g}", of.size), of.null.value},
               {fmt::format("separability_sphere_{:g}", of.size), of.sphere.value},
               {fmt::format("excess_distinct_{:g}", of.size), of.distinct.value}});
  }
  return all;
}

}  // namespace

void distance_grows_linearly(Evidence& found) {
  const auto n = find_label(found.results, "top_n", kFixedN);
  found.need(n.has_value(), "five");
  const double high = 1 + found.threshold("tolerance");
  judge_powers(found, metric::distance, {"top_n", *n}, 1 / high, high);
}

void distance_bound_is_safe(Evidence& found) {
  const BoundFactors factors = bound_factors(found);
  const auto below = [](const std::vector<double>& values) {
    return std::ranges::count_if(values, [](double factor) { return factor < 1 - kRounding; });
  };
  const auto of_paper = below(factors.paper), of_valid = below(factors.valid);
  found.verdict = verdict_if(of_paper + of_valid == 0, true);
  found.set({{"cells", factors.paper.size()}, {"of_paper", of_paper}, {"of_valid", of_valid}});
}

void distance_bound_is_conservative(Evidence& found) {
  const BoundFactors factors = bound_factors(found);
  const Interval interval = interval_of_all(factors.by_head);
  found.verdict = verdict_of(place_of(interval, found.threshold("factor"), HUGE_VAL));
  found.describe("factor", factors.paper);
  found.set("median", interval);
  found.set("tight", median(factors.valid));
  found.set_word("own", factors.valid.empty() ? "-" : found.text("own_factor"));
}

void returns_diminish(Evidence& found) {
  const auto longest = longest_length(found.results);
  const auto sizes = found.numbers("top_n");
  const auto middle = find_label(found.results, "top_n", kManyN);
  Index first = -1, last = -1;
  for (Index n = 0; longest && n < std::ssize(sizes); ++n) {
    if (sizes[n] <= kFewN && first < 0) first = n;
    if (sizes[n] >= kMostN && 8 * sizes[n] <= *longest) last = n;
  }
  name_longest(found);
  found.need(middle && first >= 0 && last >= 0, "sizes");
  const double few = sizes[first], most = sizes[last], share = found.threshold("share");
  const auto at = [&](Index n) { return found.of_heads(metric::distance, {{"top_n", n}}); };
  const auto early = less(at(*middle), at(first)), late = less(at(last), at(*middle));
  std::vector<double> shares;
  for (std::size_t h = 0; h < early.size(); ++h) {
    if (!(early[h] > 0) || std::isnan(late[h])) continue;
    shares.push_back(late[h] / (most - kManyN) / (early[h] / (kManyN - few)));
  }
  found.need(!shares.empty(), "growth");
  judge_median(found, shares, -HUGE_VAL, share);
  const double median_share = median(shares);
  found.set_word("added", std::abs(median_share) < kNothing
                              ? "nothing of"
                              : fmt::format("{:.2f} times", median_share));
  found.set({{"share_most", std::ranges::max(shares)},
             {"n_first", few},
             {"n_last", most},
             {"less", std::ranges::count_if(shares, [&](double s) { return s <= share; })}});
}

void separability_settles(Evidence& found) {
  const std::vector<SeparabilityOf> all = separability_by_size(found);
  const SeparabilityOf &first = all.front(), &last = all.back();
  std::vector<double> drifts = paired_differences(last.of_heads, first.of_heads);
  for (double& drift : drifts) drift /= std::log2(last.size / first.size);
  const MeanWithError drift = mean_with_error(drifts);
  const Interval interval = t_interval(drift);
  std::vector<Place> places = {
      place_of(interval, -found.threshold("drift"), found.threshold("drift"))};
  for (const SeparabilityOf& of : all) {
    places.push_back(place_of(t_interval(of.mean), kSettledLow, kSettledHigh));
  }
  found.verdict = verdict_of(places);
  found.set("drift", interval);
  found.set({{"drift_per_doubling", drift.value},
             {"first", first.mean.value},
             {"last", last.mean.value},
             {"first_null", first.null.value},
             {"last_null", last.null.value},
             {"excess", first.mean.value - first.null.value},
             {"distinct", first.distinct.value}});
  if (!std::isnan(first.distinct.value)) found.say("once");
}

void sphere_reaches_the_band(Evidence& found) {
  std::vector<Place> places;
  for (const SeparabilityOf& of : separability_by_size(found)) {
    places.push_back(place_of(t_interval(of.sphere), kSettledLow, kSettledHigh));
  }
  found.verdict = verdict_of(places);
}

}  // namespace headgauge
