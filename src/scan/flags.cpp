#include "headgauge/flags.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "headgauge/cells.hpp"

namespace headgauge {
namespace {

constexpr double kDispersed = 0.95;
constexpr double kCollapsed = 0.05;
constexpr double kSink = 0.3;
constexpr double kOverSelected = 0.06;
constexpr double kSensitive = 0.25;
constexpr double kRedundant = 0.8;
constexpr double kSlow = 0.1;
constexpr double kNullErrors = 2.0;
constexpr double kNoExcess = 0.02;

// What a rule found; a flag is raised if `raised`.
struct Finding {
  bool raised = false;
  double value = kUndefined;
  double threshold = kUndefined;
  std::optional<int> partner;
};

using Rule = std::optional<Finding> (*)(const Results&, const HeadName&);

std::optional<MetricCell> of_head(const Results& results, const char* metric,
                                  const HeadName& head) {
  return find_cell(results, metric, {{"layer", head.layer_index}, {"head", head.head_index}});
}

std::optional<Finding> above(const std::optional<MetricCell>& cell, double threshold) {
  if (!cell) return std::nullopt;
  return Finding{cell->value > threshold, cell->value, threshold, std::nullopt};
}

std::optional<Finding> dispersed(const Results& results, const HeadName& head) {
  return above(of_head(results, "entropy_normalized", head), kDispersed);
}

std::optional<Finding> collapsed(const Results& results, const HeadName& head) {
  const auto cell = of_head(results, "entropy_normalized", head);
  if (!cell) return std::nullopt;
  return Finding{cell->value < kCollapsed, cell->value, kCollapsed, std::nullopt};
}

std::optional<Finding> sink(const Results& results, const HeadName& head) {
  return above(of_head(results, "sink_weight", head), kSink);
}

// No better than with the pairing of weights and keys permuted: the excess is not shown to be above
// 0, and shown to be below what would matter.
std::optional<Finding> saturated(const Results& results, const HeadName& head) {
  const auto top_n = judged_top_n(results);
  if (!top_n) return std::nullopt;
  const auto excess =
      find_cell(results, "separability_excess",
                {{"layer", head.layer_index}, {"head", head.head_index}, {"top_n", *top_n}});
  if (!excess || std::isnan(excess->standard_error)) return std::nullopt;
  const double errors = kNullErrors * excess->standard_error;
  const double threshold = std::min(errors, kNoExcess - errors);
  const bool raised = excess->value <= errors && excess->value < kNoExcess - errors;
  return Finding{raised, excess->value, threshold, std::nullopt};
}

std::optional<Finding> over_selected(const Results& results, const HeadName& head) {
  const auto needed = of_head(results, "mass_90", head);
  const auto visible = of_head(results, "visible_keys", head);
  if (!needed || !visible || visible->value <= 0) return std::nullopt;
  const double share = needed->value / visible->value;
  return Finding{share > kOverSelected, share, kOverSelected, std::nullopt};
}

std::optional<Finding> sensitive(const Results& results, const HeadName& head) {
  return above(of_head(results, "sensitivity_top2", head), kSensitive);
}

std::optional<Finding> redundant(const Results& results, const HeadName& head) {
  auto finding = above(of_head(results, "top_overlap", head), kRedundant);
  const auto partner = of_head(results, "top_overlap_partner", head);
  if (finding && partner) finding->partner = static_cast<int>(partner->value);
  return finding;
}

std::optional<Finding> slow(const Results& results, const HeadName& head) {
  const auto rate = of_head(results, "rate_predicted", head);
  if (!rate) return std::nullopt;
  return Finding{rate->value < kSlow, rate->value, kSlow, std::nullopt};
}

struct Entry {
  FlagInfo info;
  Rule rule;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list{
      {{"dispersed", "disp", "entropy above 0.95 of its maximum",
        "headgauge's cut-off; entropy as in Zhai et al. 2023 (arXiv 2303.06296)",
        "It averages instead of selecting at this length: watch its entropy, and try a shorter "
        "context or a sparse or length-aware normalizer."},
       dispersed},
      {{"collapsed", "coll", "entropy below 0.05 of its maximum",
        "headgauge's cut-off; entropy as in Zhai et al. 2023 (arXiv 2303.06296)",
        "Nearly all of its weight lies on one key: a few keys are enough to serve it, and in "
        "training watch its entropy, for little gradient passes through it."},
       collapsed},
      {{"sink", "sink", "more than 0.3 of its weight on the first token",
        "Gu et al. 2024 (arXiv 2410.10781), eps = 0.3",
        "It rests on the first token: keep that token's key when you drop keys or slide the "
        "window."},
       sink},
      {{"saturated", "sat", "separability less than 0.02 above that of its weights permuted",
        "arXiv 2508.17821, section on separability; the null and the cut-off are headgauge's",
        "Its selected keys stand out no more than if its weights were dealt out to them at random: "
        "select fewer keys (N below 6 % of the length) and watch its separability."},
       saturated},
      {{"over_selected", "over", "90 % of its weight on more than 6 % of its keys",
        "arXiv 2508.17821, critical N below 6 % of L",
        "Its weight is spread over more keys than a head can separate: keep N below 6 % of the "
        "length, and expect it to suffer first when keys are dropped."},
       over_selected},
      {{"sensitive", "sens",
        "gradient norm above 0.25 when the two largest logits move apart (T = 1)",
        "arXiv 2508.17821, algorithm 5; half of the valid bound 1/(2T)",
        "Small changes of its largest logits change its weights much: avoid temperatures below 0.1 "
        "and low-precision logits."},
       sensitive},
      {{"redundant", "dup", "its top 10 keys overlap by more than 0.8 with another head's",
        "headgauge's cut-off; mean Jaccard overlap of the top-10 sets",
        "It selects the same keys as its partner in this layer: try without one of the two."},
       redundant},
      {{"slow", "slow", "predicted rate of convergence below 0.1 (under softmax: horizon above 2)",
        "arXiv 2512.10656, rate 1/(2 (1 + H^2)); the cut-off is headgauge's",
        "Its output settles slowly as tokens are added: give it its full context, and do not judge "
        "it on short texts."},
       slow},
  };
  return list;
}

}  // namespace

const std::vector<FlagInfo>& flag_infos() {
  static const std::vector<FlagInfo> infos = [] {
    std::vector<FlagInfo> list;
    for (const Entry& entry : entries()) list.push_back(entry.info);
    return list;
  }();
  return infos;
}

std::vector<Flag> find_flags(const Results& results) {
  std::vector<Flag> flags;
  const auto length = longest_length(results);
  if (!length) return flags;
  for (const HeadName& head : measured_heads(results)) {
    for (const Entry& entry : entries()) {
      const auto finding = entry.rule(results, head);
      if (!finding || !finding->raised) continue;
      flags.push_back({entry.info.name, head.layer, head.head, *length, finding->value,
                       finding->threshold, entry.info.source, entry.info.advice, finding->partner});
    }
  }
  return flags;
}

}  // namespace headgauge
