// Paper A's claims on how bound, distance and separability change as N grows (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
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
};
Sizes sizes_of(Evidence& found) {
  Sizes sizes{.labels = found.numbers("top_n")};
  const auto longest = longest_length(found.results);
  for (Index n = 0; longest && n < std::ssize(sizes.labels); ++n) {
    const double size = sizes.labels[n];
    if (size >= kFirstN && sizes.first < 0) sizes.first = n;
    if (size >= kNearFrom && size <= kNearTo && size + 1 < *longest) sizes.last = n;
  }
  found.need(sizes.last >= 0, "sizes");
  found.set({{"first_n", sizes.labels[sizes.first]}, {"last_n", sizes.labels[sizes.last]}});
  return sizes;
}

// Returns the indices of the N from 5 to 100.
std::vector<Index> middle_sizes(const Evidence& found) {
  const auto labels = found.numbers("top_n");
  std::vector<Index> sizes;
  for (Index n = 0; n < std::ssize(labels); ++n) {
    if (labels[n] >= kFirstN && labels[n] <= kNearTo) sizes.push_back(n);
  }
  return sizes;
}

}  // namespace

void distance_bound_tightens(Evidence& found) {
  const Sizes sizes = sizes_of(found);
  found.need(sizes.last > sizes.first, "sizes");
  const auto factors = [&](Index n) {
    return found.ratios(metric::distance_bound_paper, metric::distance, {{"top_n", n}});
  };
  const auto first = factors(sizes.first), last = factors(sizes.last);
  const auto changes = finite_values(over(last, first));
  found.need(!changes.empty(), "no_distance");
  judge_median(found, changes, -HUGE_VAL, 1);
  found.set({{"first", median_of(first)}, {"last", median_of(last)}});
  for (Index n = 0; n < std::ssize(sizes.labels); ++n) {
    found.set(fmt::format("factor_{:g}", sizes.labels[n]), median_of(factors(n)));
  }
}

void distances_converge(Evidence& found) {
  found.need_heads_without_window();
  const Sizes sizes = sizes_of(found);
  const auto lengths = found.numbers("length");
  const auto at = [&](const char* expected, Index length) {
    return finite_values(found.ratios(metric::distance, expected,
                                      {{"length", length}, {"top_n", sizes.last}},
                                      Heads::without_window));
  };
  const Index longest = std::ssize(lengths) - 1;
  const auto judged = at(metric::expected_distance, longest);
  const auto context = at(metric::expected_distance_context, longest);
  found.need(!judged.empty() && !context.empty(), "no_distance");
  const double high = 1 + found.threshold("tolerance");
  judge_median(found, judged, 1 / high, high);
  found.set({{"length", lengths.back()}, {"context", median(context)}});
  found.set("context", interval_of_median(context));
  std::string at_shorter;
  for (Index l = 0; l < longest; ++l) {
    const auto shorter = at(metric::expected_distance_context, l);
    if (shorter.empty()) continue;
    at_shorter +=
        fmt::format("{} {:.2f} at L = {:g}", l == 0 ? ";" : ",", median(shorter), lengths[l]);
    found.set(fmt::format("ratio_{:g}", lengths[l]), median(shorter));
  }
  found.set_word("at_shorter", at_shorter);
}

void separability_bound_tracks(Evidence& found) {
  const double tolerance = found.threshold("tolerance");
  std::vector<std::string> parts;
  bool all = true, far = false;
  for (const Index n : middle_sizes(found)) {
    const auto of = [&](const char* metric) { return found.of_heads(metric, {{"top_n", n}}); };
    auto bounds = of(metric::separability_upper_paper),
         values = of(metric::separability_with_sinks);
    const auto gaps = paired_differences(bounds, values);
    if (gaps.size() < kFewestOfMedian) continue;
    for (std::size_t h = 0; h < values.size(); ++h) {
      if (std::isnan(bounds[h] + values[h])) bounds[h] = values[h] = kUndefined;
    }
    const MeanWithError gap = mean_with_error(gaps);
    const Place place = place_of(t_interval(gap), -tolerance, tolerance);
    const double bound = mean_with_error(bounds).value;
    const double most = std::ranges::max(finite_values(values));
    all = all && place == Place::inside;
    far = far || (place == Place::outside && std::abs(bound - most) > tolerance);
    const std::string label = fmt::format("{:g}", found.numbers("top_n")[n]);
    parts.push_back(fmt::format("{:.2f} compared with {:.2f} (± {:.2f}; {:.2f}) at N = {}", bound,
                                mean_with_error(values).value, gap.standard_error, most, label));
    found.set({{"gap_" + label, gap.value}, {"largest_" + label, most}});
  }
  found.set("fewest", kFewestOfMedian);
  found.need(!parts.empty(), "sizes");
  found.verdict = verdict_if(all, far);
  found.set_word("parts", parts.front() + (parts.size() > 1 ? ", " + parts.back() : ""));
}

void separability_bound_without_sphere(Evidence& found) {
  std::vector<double> p, bounds, nulls;
  double below_printed = 0;
  const auto judged = judged_top_n(found.results);
  const Index lengths = std::ssize(found.numbers("length"));
  const std::vector<Index> sizes = middle_sizes(found);
  for (Index l = 0; l < lengths; ++l) {
    for (const Index n : sizes) {
      const auto at = [&](const char* metric) {
        return found.estimates(metric, {{"length", l}, {"top_n", n}});
      };
      const auto null = at(metric::separability_null_with_sinks),
                 bound = at(metric::separability_null_lower);
      const auto printed = at(metric::separability_lower_paper);
      for (std::size_t h = 0; h < null.size(); ++h) {
        if (std::isnan(null[h].standard_error) || std::isnan(bound[h].value)) continue;
        p.push_back(t_test(mean_of(null[h]), bound[h].value, Tail::below).p);
        below_printed += printed[h].value <= 0 ? 1 : 0;
        if (l + 1 != lengths || !judged || n != *judged) continue;
        bounds.push_back(bound[h].value);
        nulls.push_back(null[h].value);
      }
    }
  }
  found.need(!p.empty(), "bound");
  const auto cells = static_cast<double>(p.size());
  const auto below =
      std::ranges::count_if(p, [&](double value) { return value < kBelowLevel / cells; });
  found.verdict = verdict_if(below == 0, below > 0);
  found.set({{"cells", cells}, {"cells_below", below}, {"cells_printed_empty", below_printed}});
  if (bounds.empty()) return;
  found.set({{"n", found.numbers("top_n")[*judged]},
             {"bound", mean_with_error(bounds).value},
             {"null", mean_with_error(nulls).value},
             {"heads", bounds.size()}});
  found.say("judged");
}

}  // namespace headgauge
