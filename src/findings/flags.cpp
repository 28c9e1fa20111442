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

// Returns true for a metric that leaves out the sinks, beside one with them.
bool leaves_out_sinks(const std::string& metric) {
  return find_metric_info(metric + "_with_sinks") != nullptr;
}

std::optional<Judged> judge(const FlagInfo& flag, const Results& results, const HeadName& head) {
  if (leaves_out_sinks(flag.metric) && is_dormant(results, head)) return std::nullopt;
  const auto cell = find_judged_cell(results, flag.metric, head);
  if (!cell) return std::nullopt;
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
    flags.push_back({info.name, head.layer, head.head, length, found->value, found->threshold,
                     info.source, ""});
  }
}

}  // namespace

bool no_better_than_chance(const MetricCell& excess) {
  return std::isfinite(excess.standard_error) && t_interval(mean_of(excess)).high < 0;
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
