#include "experiments/selectivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include "headgauge/cells.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/patterns.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kFewestChanged = 4;  // heads
// Smaller changes count as no change.
constexpr double kLeastDeficit = 0.05;  // nats
constexpr double kLeastSeparability = 0.02;

struct Change {
  double before = 0, after = 0;  // means over the heads
  MeanWithError mean;
  Interval interval;  // 95 %, Student's t over the heads
  double least = 0;
  bool falls() const { return interval.high < -least; }
  bool rises() const { return interval.low > least; }
  bool stays() const { return interval.low >= -least && interval.high <= least; }
};

using HeadValue = std::function<std::optional<double>(const HeadName&)>;

// Returns the change paired over the heads that have both values.
std::optional<Change> change_over_heads(const Results& results, double least,
                                        const HeadValue& before_of, const HeadValue& after_of) {
  std::vector<double> differences;
  Change change;
  change.least = least;
  for (const HeadName& head : changed_heads(results)) {
    const auto before = before_of(head), after = after_of(head);
    if (!before || !after) continue;
    change.before += *before;
    change.after += *after;
    differences.push_back(*after - *before);
  }
  if (differences.size() < kFewestChanged) return std::nullopt;
  const auto count = static_cast<double>(differences.size());
  change.before /= count;
  change.after /= count;
  change.mean = mean_with_error(differences);
  change.interval = t_interval(change.mean);
  return change;
}

std::optional<double> value_of(const Results& results, const char* metric, const HeadName& head,
                               Index pattern, std::optional<Index> top_n) {
  const Pick layer{"layer", head.layer_index}, at{"head", head.head_index};
  const Pick of{"pattern", pattern};
  const auto cell = top_n ? find_cell(results, metric, {layer, at, of, {"top_n", *top_n}})
                          : find_cell(results, metric, {layer, at, of});
  if (!cell) return std::nullopt;
  return cell->value;
}

bool chosen_by_weight(std::string_view label) {
  const auto& known = patterns();
  const auto found = std::ranges::find(known, label.substr(0, label.find(':')), &PatternInfo::name);
  return found != known.end() && found->by_weight;
}

const char* verdict(const Change& deficit, const std::optional<Change>& separability) {
  const bool sharper = deficit.rises(), flatter = deficit.falls();
  const bool clearer = separability && separability->rises();
  const bool vaguer = separability && separability->falls();
  if ((sharper || clearer) && (flatter || vaguer)) return "better in one way, worse in the other";
  if (sharper || clearer) return "the heads select better among them";
  if (flatter || vaguer) return "the heads select less among them";
  if (!deficit.stays() || (separability && !separability->stays())) {
    return "whether the heads select better among them is open";
  }
  return "the heads merely see fewer keys";
}

}  // namespace

std::vector<std::string> selectivity_of_patterns(const Results& results) {
  std::vector<std::string> lines;
  if (results.coord("pattern") == nullptr) return lines;
  const auto names = results.coord_names("pattern");
  const auto top_n = judged_top_n(results);
  const int length = longest_length(results).value_or(0);
  for (Index k = 1; k < std::ssize(names); ++k) {
    const auto plain = [&](const char* metric, Index pattern) -> HeadValue {
      return [&results, metric, pattern](const HeadName& head) {
        return value_of(results, metric, head, pattern, std::nullopt);
      };
    };
    const auto above_permuted = [&](Index pattern) -> HeadValue {
      return [&results, pattern, top_n](const HeadName& head) -> std::optional<double> {
        if (!top_n) return std::nullopt;
        return value_of(results, metric::separability_excess_beyond_sinks, head, pattern, top_n);
      };
    };
    const auto keys = change_over_heads(results, 0, plain(metric::visible_keys, 0),
                                        plain(metric::visible_keys, k));
    const auto losing = mean_over_heads(results, metric::queries_losing_keys,
                                        changed_heads(results), {"pattern", k});
    const auto deficit =
        change_over_heads(results, kLeastDeficit, plain(metric::entropy_deficit_random, k),
                          plain(metric::entropy_deficit, k));
    const auto separability =
        change_over_heads(results, kLeastSeparability, above_permuted(0), above_permuted(k));
    if (!keys || !losing || !deficit) continue;
    std::string line = fmt::format(
        "At L = {}, {} keeps {} of {} keys ({} % of the queries lose some): entropy {:.2f} nats "
        "below that of equal weights, on as many random keys {:.2f} ({:+.2f} ± {:.2f} over heads)",
        length, names[k], rounded(keys->after), rounded(keys->before), rounded(100 * *losing),
        deficit->after, deficit->before, deficit->mean.value, deficit->mean.standard_error);
    if (separability) {
      line += fmt::format(
          ", separability above that of permuted weights {:+.2f} -> {:+.2f} ({:+.3f} ± {:.3f})",
          separability->before, separability->after, separability->mean.value,
          separability->mean.standard_error);
    }
    // The heaviest keys have similar weights by construction, whatever the head does.
    lines.push_back(chosen_by_weight(names[k])
                        ? line + "."
                        : fmt::format("{}: {}.", line, verdict(*deficit, separability)));
  }
  return lines;
}

}  // namespace headgauge
