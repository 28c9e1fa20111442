// Paper A's claims on how bound, distance and separability change as N grows (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/scan_values.hpp"
#include "results/mean_of.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kFirstN = 5;                    // at N = 1 the bound equals the distance
constexpr double kNearFrom = 50, kNearTo = 100;  // "near 100": the largest N there
constexpr double kBelowLevel = 0.05;

// Returns the index of the largest N from 50 to 100 with fewer than L - 1 selected keys, and of the
// smallest from 5 on; -1 if there is none.
struct Sizes {
  std::span<const double> labels;
  Index first = -1, last = -1;
  double label(Index n) const { return labels[static_cast<std::size_t>(n)]; }
  bool both() const { return first >= 0 && last > first; }
};
Sizes sizes_of(const Results& results) {
  Sizes sizes{.labels = numbers(results, "top_n")};
  const auto longest = longest_length(results);
  for (Index n = 0; longest && n < std::ssize(sizes.labels); ++n) {
    const double size = sizes.label(n);
    if (size >= kFirstN && sizes.first < 0) sizes.first = n;
    if (size >= kNearFrom && size <= kNearTo && size + 1 < *longest) sizes.last = n;
  }
  return sizes;
}

std::string needs_sizes() {
  return "N = 5 and one from 50 to 100 are needed, below L: scan with MeasureOptions::top_n = "
         "5,100 and ScanOptions::lengths = 1024.";
}

}  // namespace

Claim distance_bound_tightens(const Results& results, const Thresholds&) {
  Claim claim;
  const Sizes sizes = sizes_of(results);
  if (!sizes.both()) return not_tested(needs_sizes());
  const Index length = results.coord_size("length") - 1;
  const auto factors_at = [&](Index n) {
    return ratios(results, Heads::all, metric::distance_bound_paper, metric::distance, length, n);
  };
  const std::vector<double> first = factors_at(sizes.first), last = factors_at(sizes.last);
  std::vector<double> changes;
  for (std::size_t h = 0; h < first.size(); ++h) changes.push_back(last[h] / first[h]);
  changes = finite_values(changes);
  if (changes.empty()) return not_tested(kNoDistance);
  const Interval interval = interval_of_median(changes);
  claim.verdict = changes.size() < kFewestOfMedian ? Verdict::cannot_tell
                                                   : verdict_of(place_of(interval, -HUGE_VAL, 1));
  claim.measured = fmt::format(
      "From N = {:g} to {:g} bound/distance goes from {:.2f} to {:.2f} in the median of {} heads, "
      "{:.2f} times ({} to {}).",
      sizes.label(sizes.first), sizes.label(sizes.last), median(finite_values(first)),
      median(finite_values(last)), changes.size(), median(changes), shown(interval.low),
      shown(interval.high));
  claim.facts = {{"change_median", median(changes)},
                 {"change_low", interval.low},
                 {"change_high", interval.high},
                 {"heads", static_cast<double>(changes.size())}};
  for (Index n = 0; n < std::ssize(sizes.labels); ++n) {
    claim.facts.push_back(
        {fmt::format("factor_{:g}", sizes.label(n)), median(finite_values(factors_at(n)))});
  }
  return claim;
}

Claim distances_converge(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  if (has_windows_alone(results)) return not_tested(kWindowsAlone);
  const Sizes sizes = sizes_of(results);
  if (sizes.last < 0) return not_tested(needs_sizes());
  const auto lengths = numbers(results, "length");
  const auto at = [&](Index length, Index n) {
    return finite_values(ratios(results, Heads::without_window, metric::distance,
                                metric::expected_distance_context, length, n));
  };
  const Index longest = std::ssize(lengths) - 1;
  const std::vector<double> judged =
      finite_values(ratios(results, Heads::without_window, metric::distance,
                           metric::expected_distance, longest, sizes.last));
  const std::vector<double> context = at(longest, sizes.last);
  if (judged.empty() || context.empty()) return not_tested(kNoDistance);
  const Interval interval = interval_of_median(judged), beside = interval_of_median(context);
  claim.verdict = judged.size() < kFewestOfMedian
                      ? Verdict::cannot_tell
                      : verdict_of(place_of(interval, 1 / (1 + thresholds.at("tolerance")),
                                            1 + thresholds.at("tolerance")));
  claim.measured = fmt::format(
      "At N = {:g} of L = {:g} the ratio is {} ({} to {}) in the median of {} heads; in the "
      "reading \"context\" {:.3f} ({:.3f} to {:.3f})",
      sizes.label(sizes.last), lengths.back(), shown(median(judged)), shown(interval.low),
      shown(interval.high), judged.size(), median(context), beside.low, beside.high);
  claim.facts = {{"ratio", median(judged)},   {"low", interval.low},
                 {"high", interval.high},     {"ratio_context", median(context)},
                 {"low_context", beside.low}, {"high_context", beside.high}};
  for (Index l = 0; l < longest; ++l) {
    const std::vector<double> shorter = at(l, sizes.last);
    if (shorter.empty()) continue;
    claim.measured +=
        fmt::format("{} {:.2f} at L = {:g}", l == 0 ? ";" : ",", median(shorter), lengths[l]);
    claim.facts.push_back({fmt::format("ratio_{:g}", lengths[l]), median(shorter)});
  }
  claim.measured += ".";
  return claim;
}

Claim separability_bound_tracks(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const auto labels = numbers(results, "top_n");
  const Index length = longest_length(results) ? results.coord_size("length") - 1 : 0;
  std::vector<std::string> parts;
  bool all = true, far = false;
  for (Index n = 0; n < std::ssize(labels); ++n) {
    if (labels[n] < kFirstN || labels[n] > kNearTo) continue;
    std::vector<double> gaps, bounds, values;
    for (const HeadName& head : measured_heads(results)) {
      const auto bound =
          value_at(results, metric::separability_upper_paper, head, "length", length, {"top_n", n});
      const auto value =
          value_at(results, metric::separability_with_sinks, head, "length", length, {"top_n", n});
      if (!bound || !value) continue;
      gaps.push_back(*bound - *value);
      bounds.push_back(*bound);
      values.push_back(*value);
    }
    if (gaps.size() < kFewestOfMedian) continue;
    const MeanWithError gap = mean_with_error(gaps);
    const Place place =
        place_of(t_interval(gap), -thresholds.at("tolerance"), thresholds.at("tolerance"));
    const double bound = mean_with_error(bounds).value, most = std::ranges::max(values);
    all = all && place == Place::inside;
    far = far || (place == Place::outside && std::abs(bound - most) > thresholds.at("tolerance"));
    parts.push_back(fmt::format("{:.2f} compared with {:.2f} (± {:.2f}; {:.2f}) at N = {:g}", bound,
                                mean_with_error(values).value, gap.standard_error, most,
                                labels[n]));
    claim.facts.push_back({fmt::format("gap_{:g}", labels[n]), gap.value});
    claim.facts.push_back({fmt::format("largest_{:g}", labels[n]), most});
  }
  if (parts.empty()) {
    return not_tested(
        fmt::format("Fewer than {} heads have a separability at some N from 5 "
                    "to 100: scan with ScanOptions::measures = separability "
                    "and MeasureOptions::top_n = 5,20,100.",
                    kFewestOfMedian));
  }
  claim.verdict = all ? Verdict::holds : far ? Verdict::does_not_hold : Verdict::cannot_tell;
  claim.measured = fmt::format(
      "The bound is {}{} of all keys (means over the heads, in brackets the error of the gap and "
      "the head of "
      "the largest).",
      parts.front(), parts.size() > 1 ? ", " + parts.back() : "");
  return claim;
}

Claim separability_bound_without_sphere(const Results& results, const Thresholds&) {
  Claim claim;
  const auto labels = numbers(results, "top_n");
  std::vector<double> p, bounds, nulls;
  double below_printed = 0;
  const auto judged = judged_top_n(results);
  const Index lengths = results.coord_size("length");
  for (const HeadName& head : measured_heads(results)) {
    for (Index l = 0; l < lengths; ++l) {
      for (Index n = 0; n < std::ssize(labels); ++n) {
        if (labels[n] < kFirstN || labels[n] > kNearTo) continue;
        const auto cell = [&](std::string_view metric) {
          return find_cell(results, metric,
                           {{"layer", head.layer_index},
                            {"head", head.head_index},
                            {"length", l},
                            {"top_n", n}});
        };
        const auto null = cell(metric::separability_null_with_sinks);
        const auto bound = cell(metric::separability_null_lower);
        if (!null || !bound || std::isnan(null->standard_error)) continue;
        p.push_back(t_test(mean_of(*null), bound->value, Tail::below).p);
        const auto printed = cell(metric::separability_lower_paper);
        below_printed += printed && printed->value <= 0 ? 1 : 0;
        if (l + 1 != lengths || !judged || n != *judged) continue;
        bounds.push_back(bound->value);
        nulls.push_back(null->value);
      }
    }
  }
  if (p.empty()) {
    return not_tested(
        "No separability_null_lower with an error was measured: scan with "
        "ScanOptions::measures = separability, MeasureOptions::top_n = 5,20,100 and "
        "ScanOptions::lengths = 256, on the unit sphere and without a pattern that "
        "chooses its keys by their scores or anew for each query.");
  }
  const auto cells = static_cast<double>(p.size());
  const auto below = static_cast<double>(
      std::ranges::count_if(p, [&](double value) { return value < kBelowLevel / cells; }));
  claim.verdict = below == 0 ? Verdict::holds : Verdict::does_not_hold;
  claim.measured = fmt::format(
      "In {} of {} cells the null is shown to be below its bound. The bound as printed is not "
      "above 0 in {} of them.",
      below, cells, below_printed);
  claim.facts = {{"cells", cells}, {"cells_below", below}, {"cells_printed_empty", below_printed}};
  if (bounds.empty()) return claim;
  const double bound = mean_with_error(bounds).value, null = mean_with_error(nulls).value;
  claim.measured += fmt::format(
      " At N = {:g} of the longest L headgauge's bound is {:.2f} and the null {:.2f} "
      "(means over {} heads).",
      labels[*judged], bound, null, bounds.size());
  claim.facts.push_back({"bound", bound});
  claim.facts.push_back({"null", null});
  return claim;
}

}  // namespace headgauge
