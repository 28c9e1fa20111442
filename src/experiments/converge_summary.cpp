// Describes the findings of converge() in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "convergence/budget.hpp"
#include "experiments/converge_output.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/changes.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/metric_names.hpp"
#include "results/mean_of.hpp"
#include "results/next_commands.hpp"
#include "results/summary_line.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

using summary::explained;
using summary::Line;
using summary::MaybeLine;

struct Extreme {
  HeadName head;
  MetricCell cell;
};

class Sentences {
 public:
  explicit Sentences(const Results& results)
      : results_(results),
        heads_(measured_heads(results)),
        tolerance_(find_label(results, "tolerance", kServed)) {}

  std::vector<SummaryLine> all() const {
    std::vector<SummaryLine> lines;
    for (const MaybeLine& line :
         {explained(horizons(),
                    "A wide horizon is paper B's sign of an output that settles late: a rate of "
                    "0.5 halves the error with four times the keys, a smaller one with more.",
                    next::kTokens),
          explained(rates(),
                    "A head that is slower than its horizon predicts needs more keys than paper B "
                    "says.",
                    next::kTokens),
          explained(budgets(),
                    "This many keys keep the head's output within the tolerance, averaged over the "
                    "text. They do not say how the loss changes.",
                    next::kDropKeys),
          explained(cache(), "The difference is the memory that a budget for each head saves.",
                    next::kPlan)}) {
      if (line) lines.push_back(*line);
    }
    return lines;
  }

 private:
  std::optional<MetricCell> cell(std::string_view metric, const HeadName& head) const {
    const Pick layer{"layer", head.layer_index}, at{"head", head.head_index};
    if (metric != metric::tokens_for_error) return find_cell(results_, metric, {layer, at});
    return find_cell(results_, metric,
                     {layer,
                      at,
                      {"tolerance", tolerance_.value_or(0)},
                      {"sampler", static_cast<Index>(Sampler::recent)}});
  }

  // Returns the head with the largest sign * metric, the first of equal ones; nothing if no head
  // has it.
  std::optional<Extreme> extreme(std::string_view metric, double sign) const {
    std::optional<Extreme> best;
    for (const HeadName& head : heads_) {
      const auto found = cell(metric, head);
      if (!found || (best && sign * found->value <= sign * best->cell.value)) continue;
      best = Extreme{head, *found};
    }
    return best;
  }

  Line& heads(Line& line) const {
    return line.whole({Line::Kind::heads}, static_cast<double>(heads_.size()));
  }

  MaybeLine horizons() const {
    const auto widest = extreme(metric::horizon, 1), narrowest = extreme(metric::horizon, -1);
    if (!widest) return {};
    const auto fast = cell(metric::rate_predicted, narrowest->head);
    const auto slow = cell(metric::rate_predicted, widest->head);
    if (!fast || !slow) return {};
    const auto flagged =
        std::ranges::count_if(results_.flags, [](const Flag& flag) { return flag.name == "slow"; });
    Line line;
    line.say("Horizons reach from ").number(narrowest->cell).say(" (").head(narrowest->head);
    line.say(") to ").number(widest->cell).say(" (").head(widest->head);
    line.say("), for which paper B predicts rates from ").number(*fast).say(" down to ");
    line.number(*slow).say("; ").flags("slow", static_cast<double>(flagged)).say(" of ");
    return heads(line)
        .say(" heads are slow (below ")
        .constant(fmt::format("{}", flag_info("slow").cutoff))
        .say(").")
        .done();
  }

  MaybeLine rates() const {
    const auto slowest = extreme(metric::rate_covariance, -1);
    if (!slowest) return {};
    std::vector<double> p_of_slower;
    for (const HeadName& head : heads_) {
      const auto rate = cell(metric::rate_covariance, head),
                 predicted = cell(metric::rate_predicted, head);
      if (!rate || !predicted || std::isnan(rate->standard_error)) continue;
      p_of_slower.push_back(t_test(mean_of(*rate), predicted->value, Tail::below).p);
    }
    const auto judged = static_cast<double>(p_of_slower.size());
    const auto below = static_cast<double>(std::ranges::count_if(
        adjusted_p_values(p_of_slower), [](double p) { return p <= kFalseDiscoveries; }));
    Line line;
    line.say("The covariance of the outputs settles slowest in ").head(slowest->head);
    line.say(", at a rate of ").number(slowest->cell);
    if (judged > 0) {
      line.say("; ").derived(below).say(" of ").derived(judged);
      line.say(" heads are shown to be slower than their horizon predicts");
    }
    return line.say(".").done();
  }

  MaybeLine budgets() const {
    const auto most = extreme(metric::tokens_for_error, 1),
               fewest = extreme(metric::tokens_for_error, -1);
    if (!most || !tolerance_) return {};
    Line line;
    line.say("To keep its output within ").constant("5").say(" %, ").head(most->head);
    line.say(" needs ").whole(most->cell).say(" of ").longest(results_).say(" keys (the ");
    line.say(results_.model.causal.value_or(true) ? "most recent" : "nearest").say(" and ");
    line.constant("4").say(" sinks) and ").head(fewest->head).say(" needs ");
    return line.whole(fewest->cell).say(".").done();
  }

  MaybeLine cache() const {
    const auto full = find_cell(results_, metric::cache_bytes, {{"cache", 0}});
    const auto kept = find_cell(results_, metric::cache_bytes, {{"cache", 1}});
    const auto most = extreme(metric::tokens_for_error, 1),
               fewest = extreme(metric::tokens_for_error, -1);
    if (!full || !kept || !most) return {};
    Line line;
    line.say("At L = ")
        .longest(results_)
        .say(", the key-value cache takes ")
        .whole(*full)
        .say(" bytes per token; kept to these ");
    line.say("budgets it takes ").whole(*kept).say(", ");
    line.derived(100 * kept->value / full->value).say(" % of it");
    if (fewest->head.text() != most->head.text()) {
      line.say(", of which ").head(most->head).say(" needs the most and ").head(fewest->head);
      line.say(" the least");
    }
    return line.say("; their effect on the loss was not measured.").done();
  }

  const Results& results_;
  std::vector<HeadName> heads_;
  std::optional<Index> tolerance_;
};

}  // namespace

std::vector<SummaryLine> summarize_convergence(const Results& results) {
  return Sentences(results).all();
}

}  // namespace headgauge
