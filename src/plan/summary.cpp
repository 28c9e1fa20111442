// Computes what the sentences about make_plan() say and its results do not hold as it is.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/plan.hpp"
#include "plan/made.hpp"
#include "results/sentences.hpp"

namespace headgauge {
namespace {

constexpr int kEnoughDraws = 19;  // with fewer, p cannot be as small as .05

class PlanScope {
 public:
  explicit PlanScope(const Results& results) : results_(results) {}

  Scope all() {
    scope_.picks = {{"method", 0}, {"budget", 0}, {kOutcome, 0}};
    scope_.give("plan", results_.coord_names("budget")[0]).give("text", Spot{{{kOutcome, 0}}});
    give_judges();
    give_rivals();
    give_assignments();
    give_other_plans();
    return std::move(scope_);
  }

 private:
  std::optional<MetricCell> change(Index budget, Index outcome) const {
    return find_cell(results_, metric::planned_change,
                     {{"method", 0}, {"budget", budget}, {kOutcome, outcome}});
  }
  std::optional<double> setting(const char* name) const {
    const auto found = results_.settings.find(name);
    if (found == results_.settings.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  }

  // Gives the outcomes that judge the first plan besides the loss of text, and whether all of its
  // intervals end at or below what was allowed. What is judged and has no interval is not shown to
  // keep to anything.
  void give_judges() {
    const auto replay = replay_of(results_);
    const auto tasks = tasks_of(results_);
    const auto rise = setting("allow");
    const auto text = change(0, 0);
    bool keeps = text && text->high <= rise.value_or(0), judges_tasks = false;
    std::vector<Scope> others;
    for (Index o = 1; o < results_.coord_size(kOutcome); ++o) {
      const auto found = change(0, o);
      if (!found) continue;
      const bool is_replay = replay == o;
      others.emplace_back(Picks{{kOutcome, o}})
          .give("task", results_.coord_names(kOutcome)[o])
          .give_if("is_replay", is_replay);
      judges_tasks = judges_tasks || std::ranges::count(tasks, o) > 0;
      keeps = keeps &&
              found->high <=
                  setting(is_replay ? "allow_replay" : "allow_answers").value_or(rise.value_or(0));
    }
    const auto share =
        find_cell(results_, metric::planned_cache_share, {{"method", 0}, {"budget", 0}});
    scope_.give_if("asks_for_rise", rise.has_value())
        .give_if("keeps_all", rise && share && share->value >= 1)
        .give_if("keeps_to_rises", keeps)
        .give_if("judges_more", !others.empty())
        .give_if("judges_tasks", judges_tasks)
        .give("others", std::move(others));
    if (replay) scope_.give("replay", Spot{{{kOutcome, *replay}}});
  }

  void give_rivals() {
    const auto names = results_.coord_names("method");
    std::vector<Scope> rivals;
    for (Index m = 1; m < std::ssize(names); ++m) {
      if (m == static_cast<Index>(Method::random)) continue;  // the assignments say more about it
      rivals.emplace_back(Picks{{"method", m}}).give("method", names[m]);
    }
    scope_.give("rivals", std::move(rivals));
  }

  // Gives how many random assignments cost at most as much as the plan; nothing if every one is the
  // plan itself.
  void give_assignments() {
    const auto p = find_cell(results_, metric::random_plans_p, {{"budget", 0}});
    if (!p) return;
    const Index draws = results_.coord_size("draw");
    const MetricCell own = require_cell(results_, metric::planned_change,
                                        {{"method", 0}, {"budget", 0}, {kOutcome, 0}});
    for (Index draw = 0; draw < draws; ++draw) {
      const auto other =
          find_cell(results_, metric::random_change, {{"budget", 0}, {"draw", draw}});
      if (!other || other->value == own.value) continue;
      scope_.count("as_low", std::round(p->value * static_cast<double>(1 + draws)) - 1)
          .count("draws", draws)
          .count("enough_draws", kEnoughDraws);
      return;
    }
  }

  void give_other_plans() {
    std::vector<Scope> plans;
    for (Index b = 1; b < results_.coord_size("budget"); ++b) {
      if (!change(b, 0)) return;
      plans.emplace_back(Picks{{"budget", b}});
    }
    scope_.give("other_plans", std::move(plans));
  }

  const Results& results_;
  Scope scope_;
};

}  // namespace

std::vector<SummaryLine> summarize_plan(const Results& results) {
  if (results.metric(metric::planned_change) == nullptr) return {};
  return sentences_about("plan", results, PlanScope(results).all());
}

}  // namespace headgauge
