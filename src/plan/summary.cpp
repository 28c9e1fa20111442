// Describes the findings of make_plan() in sentences.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/plan.hpp"
#include "plan/made.hpp"
#include "results/next_commands.hpp"
#include "results/summary_line.hpp"

namespace headgauge {
namespace {

using summary::explained;
using summary::Line;
using summary::MaybeLine;

constexpr double kLevel = 0.05;
constexpr int kFewestDraws = 19;  // with fewer, p cannot be as small as .05

class Sentences {
 public:
  explicit Sentences(const Results& results)
      : results_(results),
        budgets_(results.coord_names("budget")),
        methods_(results.coord_names("method")) {}

  std::vector<SummaryLine> all() const {
    std::vector<SummaryLine> lines;
    for (const MaybeLine& line :
         {explained(act(), act_means(), next::kUnderPlan),
          explained(
              rivals(0),
              judges_more()
                  ? "A plan that does not beat simple rules of the same size in either is not "
                    "worth its search. The tables have the answers of tasks."
                  : "A plan that does not beat simple rules of the same size is not "
                    "worth its search.",
              next::kDropKeys),
          explained(assignments(0),
                    "The same entries at other heads are the control: they say whether the plan "
                    "knows its heads.",
                    next::kValidate),
          explained(others(), "An interval that contains 0 shows no change at that size.",
                    next::kUnderPlan)}) {
      if (line) lines.push_back(*line);
    }
    return lines;
  }

 private:
  std::optional<MetricCell> cell(const char* metric, Index method, Index budget) const {
    return find_cell(results_, metric, {{"method", method}, {"budget", budget}});
  }

  // Returns the plan's own cell.
  MetricCell required(const char* metric, Index budget) const {
    return require_cell(results_, metric, {{"method", 0}, {"budget", budget}});
  }

  void add_change(Line& line, Index budget) const {
    line.nats(required(metric::planned_change, budget)).say(" nats");
    add_interval(line, cell(metric::planned_change_low, 0, budget),
                 cell(metric::planned_change_high, 0, budget));
  }

  // Returns the allowed rise, if one was requested.
  std::optional<double> asked_rise() const {
    const auto allow = results_.settings.find("allow");
    if (allow == results_.settings.end() || !allow->is_number()) return std::nullopt;
    return allow->get<double>();
  }

  // Describes the confirmed effect of the plan that was asked for, and whether it meets the
  // request.
  MaybeLine act() const {
    const auto share = cell(metric::planned_cache_share, 0, 0);
    if (!share) return std::nullopt;
    const auto low = cell(metric::planned_change_low, 0, 0);
    const auto high = cell(metric::planned_change_high, 0, 0);
    Line line;
    if (asked_rise() && share->value >= 1) {
      line.say("No plan that keeps less of the key-value cache at L = ").longest(results_);
      line.say(" was shown to stay below the allowed ");
      return line.say(std::string(budgets_[0]))
          .say(judges_more() ? " nats, of text, replay and answers, on what took no part in the "
                               "search: keep the model as it is."
                             : " nats, on the pieces of the text that took no part in the search: "
                               "keep the model as it is.")
          .done();
    }
    line.say("The plan \"").say(budgets_[0]).say("\" keeps ").number(*share, 100);
    line.say(" % of the key-value cache at L = ").longest(results_);
    line.say(" and changes the loss by ");
    add_change(line, 0);
    line.say(" on held-out text: ");
    if (!low || !high) return line.say("one document shows nothing about others.").done();
    if (high->value < 0) {
      line.say("the loss is shown to fall");
    } else if (low->value > 0) {
      line.say("the loss is shown to rise");
    } else {
      line.say("no change is shown");
    }
    if (const auto same = cell(metric::planned_same_token, 0, 0)) {
      line.say("; at ").number(*same, 100);
      line.say(" % of the tokens it predicts the same next token");
    }
    add_retrieval(line);
    const std::vector<std::string> lost = shown_to_be_lost();
    if (!lost.empty()) line.say(fmt::format(". It is shown to harm {}", fmt::join(lost, ", ")));
    if (asked_rise()) {
      line.say(keeps_to_allowances()
                   ? ". All intervals end below the allowed rises"
                   : ". It is not shown to stay below the allowed rises: do not use it");
    }
    return line.say(".").done();
  }

  std::string act_means() const {
    for (Index t = 0; t < tasks(); ++t) {
      if (!of_task(metric::planned_answer_change, t)) continue;
      return "Decide by these figures: the text and the cases were not used to choose the plan. "
             "The unchanged model decided which tasks count.";
    }
    if (cell(metric::planned_replay_change, 0, 0)) {
      return "Decide by these figures: the text was not used to choose the plan. The replay shows "
             "copying alone; add --confirm-tasks to see whether answers are still found.";
    }
    return std::string("Decide by this figure: its text was not used to choose the plan. ") +
           summary::kFarBack;
  }

  // Returns whether the first plan is judged by more than the loss of text.
  bool judges_more() const {
    if (cell(metric::planned_replay_change, 0, 0)) return true;
    for (Index t = 0; t < tasks(); ++t) {
      if (of_task(metric::planned_answer_change, t)) return true;
    }
    return false;
  }

  Index tasks() const {
    return results_.coord("task") == nullptr ? 0 : results_.coord_size("task");
  }

  std::optional<MetricCell> of_task(const char* metric, Index task) const {
    return find_cell(results_, metric, {{"method", 0}, {"budget", 0}, {"task", task}});
  }

  // Says what the first plan does to the replay and to the answers of each task.
  void add_retrieval(Line& line) const {
    if (const auto replay = cell(metric::planned_replay_change, 0, 0)) {
      line.say("; it changes the loss of a passage that comes again by ").nats(*replay);
      add_interval(line, cell(metric::planned_replay_change_low, 0, 0),
                   cell(metric::planned_replay_change_high, 0, 0));
    }
    for (Index t = 0; t < tasks(); ++t) {
      const auto change = of_task(metric::planned_answer_change, t);
      if (!change) continue;
      line.say("; it changes the loss of the answers of ").say(results_.coord_names("task")[t]);
      line.say(" by ").nats(*change);
      add_interval(line, of_task(metric::planned_answer_change_low, t),
                   of_task(metric::planned_answer_change_high, t));
      const auto kept = of_task(metric::planned_answers_kept, t);
      const auto low = of_task(metric::planned_answers_kept_low, t);
      const auto high = of_task(metric::planned_answers_kept_high, t);
      if (!kept || !low || !high) continue;
      line.say(" and keeps ").number(*kept, 100).say(" % (").number(*low, 100);
      line.say(" to ").number(*high, 100).say(" %) of the right ones");
    }
  }

  // Returns what the first plan is shown to make worse besides the loss of text.
  std::vector<std::string> shown_to_be_lost() const {
    std::vector<std::string> lost;
    const auto replay = cell(metric::planned_replay_change_low, 0, 0);
    if (replay && replay->value > 0) lost.emplace_back("passages that come again");
    for (Index t = 0; t < tasks(); ++t) {
      const auto answers = of_task(metric::planned_answer_change_low, t);
      if (!answers || !(answers->value > 0)) continue;
      lost.push_back(fmt::format("answers of {}", results_.coord_names("task")[t]));
    }
    return lost;
  }

  static void add_interval(Line& line, const std::optional<MetricCell>& low,
                           const std::optional<MetricCell>& high) {
    if (!low || !high) return;
    line.say(" (95 %: ");
    line.nats(*low);
    line.say(" to ");
    line.nats(*high);
    line.say(")");
  }

  // Returns whether all intervals of the first plan end at or below what was allowed.
  bool keeps_to_allowances() const {
    const double rise = asked_rise().value_or(0);
    const auto allowed = [&](const char* name) {
      const auto found = results_.settings.find(name);
      const bool asked = found != results_.settings.end() && found->is_number();
      return asked ? found->get<double>() : rise;
    };
    const auto high = cell(metric::planned_change_high, 0, 0);
    if (!high || high->value > rise) return false;
    // What is judged and has no interval is not shown to keep to anything.
    const auto is_above = [](bool judged, const std::optional<MetricCell>& end, double most) {
      return judged && !(end && end->value <= most);
    };
    if (is_above(cell(metric::planned_replay_change, 0, 0).has_value(),
                 cell(metric::planned_replay_change_high, 0, 0), allowed("allow_replay"))) {
      return false;
    }
    for (Index t = 0; t < tasks(); ++t) {
      if (is_above(of_task(metric::planned_answer_change, t).has_value(),
                   of_task(metric::planned_answer_change_high, t), allowed("allow_answers"))) {
        return false;
      }
    }
    return true;
  }

  MaybeLine rivals(Index budget) const {
    Line line;
    line.say("At L = ").longest(results_).say(", compared with plans that may keep as much, ");
    const char* what = judges_more() ? "its loss of text is " : "its loss is ";
    if (!add_rivals(line, what, budget, metric::plan_difference, metric::plan_difference_p)) {
      return std::nullopt;
    }
    add_rivals(line, ". Its loss of a passage that comes again is ", budget,
               metric::plan_replay_difference, metric::plan_replay_difference_p);
    return line.say(".").done();
  }

  // Says from which methods the plan is shown to differ, and how; returns false if none was
  // compared.
  bool add_rivals(Line& line, const char* what, Index budget, const char* difference_name,
                  const char* p_name) const {
    std::vector<std::string> better, worse, open;
    for (Index m = 1; m < std::ssize(methods_); ++m) {
      if (m == static_cast<Index>(Method::random)) continue;  // assignments() says more about it
      const auto p = cell(p_name, m, budget);
      const auto difference = cell(difference_name, m, budget);
      if (!p || !difference) continue;
      const std::string name(methods_[static_cast<std::size_t>(m)]);
      (p->value > kLevel ? open : difference->value < 0 ? better : worse).push_back(name);
    }
    bool some = false;
    const auto add = [&](const char* how, const std::vector<std::string>& names) {
      if (names.empty()) return;
      line.say(some ? "; " : what).say(how);
      for (std::size_t i = 0; i < names.size(); ++i) line.say(i > 0 ? "; " : "").say(names[i]);
      some = true;
    };
    add("shown to be lower than under: ", better);
    add("shown to be higher than under: ", worse);
    add("not shown to differ from: ", open);
    return some;
  }

  MaybeLine assignments(Index budget) const {
    const auto p = find_cell(results_, metric::random_plans_p, {{"budget", budget}});
    if (!p) return std::nullopt;
    const Index draws = results_.coord_size("draw");
    bool differ = false;  // false if every assignment is the plan itself
    for (Index draw = 0; draw < draws; ++draw) {
      const auto other =
          find_cell(results_, metric::random_change, {{"budget", budget}, {"draw", draw}});
      differ = differ || (other && other->value != required(metric::planned_change, budget).value);
    }
    const double as_low = std::round(p->value * static_cast<double>(1 + draws)) - 1;
    if (!differ) return std::nullopt;
    Line line;
    line.say("At L = ").longest(results_).say(", ");
    line.derived(as_low).say(" of ").derived(static_cast<double>(draws));
    line.say(" random assignments of the same entries to other heads");
    line.say(judges_more() ? " cost" : " lose");
    line.say(" at most as much: p = ").number(*p);
    if (p->value <= kLevel) return line.say(", it matters which head got which entry.").done();
    line.say(", it is not shown to matter which head got which entry");
    if (draws < kFewestDraws) {
      line.say("; this many assignments cannot show it: ask for ")
          .derived(kFewestDraws)
          .say(" or more");
    }
    return line.say(".").done();
  }

  MaybeLine others() const {
    if (budgets_.size() < 2) return std::nullopt;
    Line line;
    line.say("At L = ").longest(results_);
    line.say(", the other plans change the loss by ");
    for (Index b = 1; b < std::ssize(budgets_); ++b) {
      if (!cell(metric::planned_change, 0, b)) return std::nullopt;
      if (b > 1) line.say(", ");
      add_change(line, b);
      line.say(" at ").number(required(metric::planned_cache_share, b), 100).say(" %");
    }
    return line.say(".").done();
  }

  const Results& results_;
  std::span<const std::string> budgets_, methods_;
};

}  // namespace

std::vector<SummaryLine> summarize_plan(const Results& results) {
  if (results.metric(metric::planned_change) == nullptr) return {};
  return Sentences(results).all();
}

}  // namespace headgauge
