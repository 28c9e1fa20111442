#include "headgauge/flags.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "findings/roles.hpp"
#include "headgauge/cells.hpp"
#include "results/mean_of.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// The value that a flag judges, and what it is compared with.
struct Judged {
  double value = kUndefined;
  double threshold = kUndefined;
  bool raised = false;
};

// The threshold is the largest value that would raise the flag.
std::optional<Judged> judge_excess(const MetricCell& excess, double cutoff) {
  if (std::isnan(excess.standard_error)) return std::nullopt;
  const Interval interval = t_interval(mean_of(excess));
  return Judged{excess.value, cutoff - (interval.high - excess.value), interval.high < cutoff};
}

std::optional<Judged> judge(const FlagInfo& flag, const Results& results, const HeadName& head) {
  if (flag.metric.ends_with(kBeyondSinks) && is_dormant(results, head)) return std::nullopt;
  const auto cell = find_judged_cell(results, flag.metric, head);
  if (!cell) return std::nullopt;
  if (flag.rule == FlagInfo::Rule::no_better_than_chance) {
    return judge_excess(*cell, flag.cutoff);
  }
  double value = cell->value;
  if (!flag.share_of.empty()) {
    const auto whole = find_cell_of_head(results, flag.share_of, head);
    if (!whole || whole->value <= 0) return std::nullopt;
    value /= whole->value;
  }
  const bool above = flag.rule == FlagInfo::Rule::above;
  return Judged{value, flag.cutoff, above ? value > flag.cutoff : value < flag.cutoff};
}

// Judges every flag of a head in the order of flag_infos().
void judge_head(const Results& results, const HeadName& head, int length,
                std::vector<Flag>& flags) {
  const std::vector<FoundRole> roles = roles_of(results, head);
  for (const FlagInfo& info : flag_infos()) {
    std::optional<Judged> found;
    if (info.rule == FlagInfo::Rule::beyond_chance) {
      const auto role = std::ranges::find(roles, &info, &FoundRole::flag);
      if (role != roles.end()) found = Judged{role->share, role->threshold, true};
    } else {
      found = judge(info, results, head);
    }
    if (!found || !found->raised) continue;
    std::optional<int> partner;
    if (!info.partner.empty()) {
      const auto other = find_cell_of_head(results, info.partner, head);
      if (other) partner = static_cast<int>(other->value);
    }
    flags.push_back({info.name, head.layer, head.head, length, found->value, found->threshold,
                     info.source, "", partner});
  }
}

}  // namespace

bool no_better_than_chance(const MetricCell& excess, double cutoff) {
  const auto judged = judge_excess(excess, cutoff);
  return judged && judged->raised;
}

bool has_rows_to_judge(const Results& results) {
  return rows_at_longest(results).value_or(kJudgedRows) >= kJudgedRows;
}

std::vector<Flag> find_flags(const Results& results) {
  std::vector<Flag> flags;
  const auto length = longest_length(results);
  if (!length || !has_rows_to_judge(results)) return flags;
  for (const HeadName& head : measured_heads(results)) judge_head(results, head, *length, flags);
  return flags;
}

}  // namespace headgauge
