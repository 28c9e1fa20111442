#include "findings/costs.hpp"

#include <cmath>
#include <map>
#include <optional>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/patterns.hpp"
#include "results/mean_of.hpp"
#include "results/sentences.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kLevel = 0.05;   // of each one-sided test
constexpr double kMargin = 0.05;  // nats: what counts as little
constexpr double kKept = 0.9;     // of the answers
enum class Cost { little, more, not_shown };

// Judges the loss of the tokens that lose keys.
Cost judge_loss(const MetricCell& rise) {
  if (!std::isfinite(rise.standard_error)) return Cost::not_shown;
  const MeanWithError mean = mean_of(rise);
  return t_test(mean, kMargin, Tail::below).p <= kLevel   ? Cost::little
         : t_test(mean, kMargin, Tail::above).p <= kLevel ? Cost::more
                                                          : Cost::not_shown;
}

// Judges the share of the answers that are kept.
Cost judge_answers(const MetricCell& kept) {
  const auto hits = static_cast<Index>(std::llround(kept.value * static_cast<double>(kept.rows)));
  const Interval interval = proportion_interval(hits, kept.rows, 2 * kLevel);
  return interval.low >= kKept   ? Cost::little
         : interval.high < kKept ? Cost::more
                                 : Cost::not_shown;
}

}  // namespace

std::vector<SummaryLine> cost_sentences(const Results& results, const std::string& dim) {
  std::map<Cost, std::vector<Scope>> lists;
  bool asks = false, has_rise = false;
  int tries = 0;
  const Dimension& changes = results.require_coord(dim);
  for (Index k = dim == "pattern" ? 1 : 0; k < changes.size(); ++k) {
    const auto rise = find_cell(results, metric::loss_change_lost_keys, {{dim, k}});
    std::optional<Cost> cost;
    if (rise) cost = judge_loss(*rise);
    has_rise = has_rise || rise;
    for (const Index task : tasks_of(results)) {
      const auto kept = find_cell(results, metric::answers_kept, {{dim, k}, {kOutcome, task}});
      const auto done = find_cell(results, metric::does_task, {{kOutcome, task}});
      if (!kept || !done || done->value != 1) continue;
      asks = true;
      const Cost of_answers = judge_answers(*kept);
      if (!cost || *cost == Cost::little || of_answers == Cost::more) cost = of_answers;
    }
    if (!cost) continue;
    ++tries;
    Scope scope({{dim, k}});
    scope.give("change", pattern_in_words(changes.label(k)));
    lists[*cost].push_back(std::move(scope));
  }
  if (lists.empty()) return {};
  Scope scope;
  scope.give_if("asks_answers", asks)
      .give_if("has_rise", has_rise)
      .give_if("has_tasks", !tasks_of(results).empty())
      .count("tries", tries);
  scope.count("number_cheap", lists[Cost::little].size())
      .count("number_costly", lists[Cost::more].size())
      .count("number_open", lists[Cost::not_shown].size())
      .give("cheap", lists[Cost::little])
      .give("costly", lists[Cost::more])
      .give("open", lists[Cost::not_shown]);
  return sentences_about(dim == kSmaller ? "costs_in_short" : "costs", results, scope);
}

}  // namespace headgauge
