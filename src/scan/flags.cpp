#include "headgauge/flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "measures/roles.hpp"
#include "results/mean_of.hpp"
#include "scan/flag_thresholds.hpp"
#include "scan/flag_words.hpp"
#include "scan/roles.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// The outcome of a rule; a flag is raised if `raised`.
struct Finding {
  bool raised = false;
  double value = kUndefined;
  double threshold = kUndefined;
  std::optional<int> partner;
};

using Rule = std::optional<Finding> (*)(const Results&, const HeadName&);

std::optional<Finding> above(const std::optional<MetricCell>& cell, double threshold) {
  if (!cell) return std::nullopt;
  return Finding{cell->value > threshold, cell->value, threshold, std::nullopt};
}

std::optional<Finding> dispersed(const Results& results, const HeadName& head) {
  return above(beyond_sinks(results, metric::entropy_normalized, head), kDispersed);
}

std::optional<Finding> collapsed(const Results& results, const HeadName& head) {
  const auto cell = beyond_sinks(results, metric::entropy_normalized, head);
  if (!cell) return std::nullopt;
  return Finding{cell->value < kCollapsed, cell->value, kCollapsed, std::nullopt};
}

std::optional<Finding> rests_on_sinks(const Results& results, const HeadName& head) {
  return above(find_cell_of_head(results, metric::sink_weight, head), kSink);
}

std::optional<Finding> dormant(const Results& results, const HeadName& head) {
  return above(find_cell_of_head(results, metric::sink_weight, head), kDormant);
}

// Detects separability no better than with randomly paired weights and keys: the 95 % interval
// (Student's t) of the excess begins at or below 0 and ends below what would matter.
std::optional<Finding> saturated(const Results& results, const HeadName& head) {
  const auto top_n = judged_top_n(results);
  if (!top_n) return std::nullopt;
  const auto excess =
      find_cell(results, metric::separability_excess,
                {{"layer", head.layer_index}, {"head", head.head_index}, {"top_n", *top_n}});
  if (!excess || std::isnan(excess->standard_error)) return std::nullopt;
  const Interval interval = t_interval(mean_of(*excess));
  const double errors = interval.high - excess->value;
  const double threshold = std::min(errors, kNoExcess - errors);
  const bool raised = interval.low <= 0 && interval.high < kNoExcess;
  return Finding{raised, excess->value, threshold, std::nullopt};
}

std::optional<Finding> over_selected(const Results& results, const HeadName& head) {
  const auto needed = beyond_sinks(results, metric::mass_90, head);
  const auto visible = find_cell_of_head(results, metric::visible_keys, head);
  if (!needed || !visible || visible->value <= 0) return std::nullopt;
  const double share = needed->value / visible->value;
  return Finding{share > kOverSelected, share, kOverSelected, std::nullopt};
}

std::optional<Finding> sensitive(const Results& results, const HeadName& head) {
  return above(find_cell_of_head(results, metric::sensitivity_top2, head), kSensitive);
}

std::optional<Finding> redundant(const Results& results, const HeadName& head) {
  auto finding = above(find_cell_of_head(results, metric::top_overlap, head), kRedundant);
  const auto partner = find_cell_of_head(results, metric::top_overlap_partner, head);
  if (finding && partner) finding->partner = static_cast<int>(partner->value);
  return finding;
}

std::optional<Finding> slow(const Results& results, const HeadName& head) {
  const auto rate = find_cell_of_head(results, metric::rate_predicted, head);
  if (!rate) return std::nullopt;
  return Finding{rate->value < kSlow, rate->value, kSlow, std::nullopt};
}

template <std::size_t role>
std::optional<Finding> has_role(const Results& results, const HeadName& head) {
  const auto roles = roles_of(results, head);
  const auto found = std::ranges::find(roles, role, &FoundRole::role);
  if (found == roles.end()) return std::nullopt;
  return Finding{true, found->share, found->threshold, std::nullopt};
}

struct Entry {
  FlagInfo info;
  Rule rule;
};

template <std::size_t role>
Entry role_entry(const char* short_name, const char* keys) {
  const std::string meaning = fmt::format(
      "the share {} of its weight beyond the sinks is at least {:g} of the way from "
      "chance to 1",
      keys, kRole);
  return {{fmt::format("role_{}", kRoles[role].label), short_name, meaning,
           "ARENA 3.0's detectors of heads, score > 0.4; share as in TransformerLens's "
           "head_detector; the comparison with chance is headgauge's",
           true},
          has_role<role>};
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list{
      {{"dispersed", "disp",
        fmt::format("entropy beyond the sinks above {} of its maximum", kDispersed),
        "headgauge's cut-off; entropy as in Zhai et al. 2023 (arXiv 2303.06296)"},
       dispersed},
      {{"collapsed", "coll",
        fmt::format("entropy beyond the sinks below {} of its maximum", kCollapsed),
        "headgauge's cut-off; entropy as in Zhai et al. 2023 (arXiv 2303.06296)"},
       collapsed},
      {{"dormant", "dorm",
        fmt::format("more than {} of its weight on sinks: on this text it looks at nothing else",
                    kDormant),
        "Guo et al. 2024 (arXiv 2410.13835), dormant heads; the cut-off is headgauge's"},
       dormant},
      {{"saturated", "sat",
        fmt::format("separability less than {} above that of its weights permuted", kNoExcess),
        "arXiv 2508.17821, section on separability; the null and the cut-off are headgauge's"},
       saturated},
      {{"over_selected", "over",
        fmt::format("90 % of its weight beyond the sinks on more than {:g} % of its keys",
                    100 * kOverSelected),
        "arXiv 2508.17821, critical N below 6 % of L"},
       over_selected},
      {{"sensitive", "sens",
        fmt::format("gradient norm above {} when the two largest logits move apart (T = 1)",
                    kSensitive),
        "arXiv 2508.17821, algorithm 5; half of the valid bound 1/(2T)"},
       sensitive},
      {{"redundant", "dup",
        fmt::format("its top 10 keys overlap by more than {} with another head's", kRedundant),
        "headgauge's cut-off; mean Jaccard overlap of the top-10 sets"},
       redundant},
      {{"slow", "slow",
        fmt::format("predicted rate of convergence below {} (under softmax: horizon above 2)",
                    kSlow),
        "arXiv 2512.10656, rate 1/(2 (1 + H^2)); the cut-off is headgauge's"},
       slow},
      {{"role_sinks", "sink", fmt::format("more than {} of its weight on sinks", kSink),
        "Gu et al. 2024 (arXiv 2410.10781), eps = 0.3; for any key, not the first alone", true},
       rests_on_sinks},
      role_entry<0>("prev", "on the token before"),
      role_entry<1>("near", "on the recent 64 tokens"),
      role_entry<2>("far", "on tokens 64 or more away"),
      role_entry<3>("copy", "on earlier copies of the token"),
      role_entry<4>("ind", "on what followed earlier copies of the token"),
  };
  return list;
}

}  // namespace

const std::vector<FlagInfo>& flag_infos() {
  static const std::vector<FlagInfo> infos = [] {
    std::vector<FlagInfo> list;
    for (const Entry& entry : entries()) {
      FlagInfo& info = list.emplace_back(entry.info);
      FlagWords words = words_of_flag(info.name);
      info.means = std::move(words.means);
      info.next = std::move(words.next);
    }
    return list;
  }();
  return infos;
}

bool has_rows_to_judge(const Results& results) {
  return rows_at_longest(results).value_or(kJudgedRows) >= kJudgedRows;
}

std::vector<Flag> find_flags(const Results& results) {
  std::vector<Flag> flags;
  const auto length = longest_length(results);
  if (!length || !has_rows_to_judge(results)) return flags;
  for (const HeadName& head : measured_heads(results)) {
    for (const Entry& entry : entries()) {
      const auto finding = entry.rule(results, head);
      if (!finding || !finding->raised) continue;
      flags.push_back({entry.info.name, head.layer, head.head, *length, finding->value,
                       finding->threshold, entry.info.source, "", finding->partner});
    }
  }
  return flags;
}

}  // namespace headgauge
