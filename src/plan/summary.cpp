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
  std::optional<MetricCell> cell(const char* metric, Index method, Index budget,
                                 Index outcome = 0) const {
    return find_cell(results_, metric,
                     {{"method", method}, {"budget", budget}, {kOutcome, outcome}});
  }

  // Returns the plan's own cell.
  MetricCell required(const char* metric, Index budget) const {
    return require_cell(results_, metric, {{"method", 0}, {"budget", budget}, {kOutcome, 0}});
  }

  void add_change(Line& line, Index budget) const {
    const MetricCell change = required(metric::planned_change, budget);
    line.nats(change).say(" nats");
    add_interval(line, change);
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
    const MetricCell change = required(metric::planned_change, 0);
    if (!change.has_interval()) {
      return line.say("one document shows nothing about others.").done();
    }
    if (change.high < 0) {
      line.say("the loss is shown to fall");
    } else if (change.low > 0) {
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
    if (judges_tasks()) {
      return "Decide by these figures: the text and the cases were not used to choose the plan. "
             "The unchanged model decided which tasks count.";
    }
    if (judges_more()) {
      return "Decide by these figures: the text was not used to choose the plan. The replay shows "
             "copying alone; add --confirm-tasks to see whether answers are still found.";
    }
    return std::string("Decide by this figure: its text was not used to choose the plan. ") +
           summary::kFarBack;
  }

  // What the first plan changes of an outcome; nothing if it is not judged by it.
  std::optional<MetricCell> change_of(Index outcome) const {
    return cell(metric::planned_change, 0, 0, outcome);
  }

  // Lists the outcomes that judge the first plan besides the loss of text.
  std::vector<Index> others_judged() const {
    std::vector<Index> places;
    for (Index o = 1; o < results_.coord_size(kOutcome); ++o) {
      if (change_of(o)) places.push_back(o);
    }
    return places;
  }
  bool judges_more() const { return !others_judged().empty(); }
  bool judges_tasks() const {
    return std::ranges::any_of(tasks_of(results_),
                               [&](Index t) { return change_of(t).has_value(); });
  }
  bool is_replay(Index outcome) const { return replay_of(results_) == outcome; }
  std::string answers_of(Index task) const {
    return fmt::format("answers of {}", results_.coord_names(kOutcome)[task]);
  }

  // Says what the first plan does to the replay and to the answers of each task.
  void add_retrieval(Line& line) const {
    for (const Index o : others_judged()) {
      const MetricCell change = *change_of(o);
      line.say(is_replay(o) ? "; it changes the loss of a passage that comes again by "
                            : "; it changes the loss of the " + answers_of(o) + " by ");
      line.nats(change);
      add_interval(line, change);
      const auto kept = cell(metric::planned_answers_kept, 0, 0, o);
      if (!kept || !kept->has_interval()) continue;
      line.say(" and keeps ").number(*kept, 100).say(" % (").ends(*kept, 100);
      line.say(" %) of the right ones");
    }
  }

  // Returns what the first plan is shown to make worse besides the loss of text.
  std::vector<std::string> shown_to_be_lost() const {
    std::vector<std::string> lost;
    for (const Index o : others_judged()) {
      if (!(change_of(o)->low > 0)) continue;
      lost.push_back(is_replay(o) ? "passages that come again" : answers_of(o));
    }
    return lost;
  }

  static void add_interval(Line& line, const MetricCell& change) {
    if (change.has_interval()) line.say(" (95 %: ").ends_in_nats(change).say(")");
  }

  // Returns whether all intervals of the first plan end at or below what was allowed. What is
  // judged and has no interval is not shown to keep to anything.
  bool keeps_to_allowances() const {
    const double rise = asked_rise().value_or(0);
    const auto allowed = [&](const char* name) {
      const auto found = results_.settings.find(name);
      const bool asked = found != results_.settings.end() && found->is_number();
      return asked ? found->get<double>() : rise;
    };
    const auto text = change_of(0);
    return text && text->high <= rise && std::ranges::all_of(others_judged(), [&](Index o) {
             return change_of(o)->high <= allowed(is_replay(o) ? "allow_replay" : "allow_answers");
           });
  }

  MaybeLine rivals(Index budget) const {
    Line line;
    line.say("At L = ").longest(results_).say(", compared with plans that may keep as much, ");
    const char* what = judges_more() ? "its loss of text is " : "its loss is ";
    if (!add_rivals(line, what, budget, 0)) return std::nullopt;
    if (const auto replay = replay_of(results_)) {
      add_rivals(line, ". Its loss of a passage that comes again is ", budget, *replay);
    }
    return line.say(".").done();
  }

  // Says from which methods the plan is shown to differ, and how; returns false if none was
  // compared.
  bool add_rivals(Line& line, const char* what, Index budget, Index outcome) const {
    std::vector<std::string> better, worse, open;
    for (Index m = 1; m < std::ssize(methods_); ++m) {
      if (m == static_cast<Index>(Method::random)) continue;  // assignments() says more about it
      const auto difference = cell(metric::plan_difference, m, budget, outcome);
      if (!difference || std::isnan(difference->p)) continue;
      const std::string name(methods_[static_cast<std::size_t>(m)]);
      (difference->p > kLevel ? open : difference->value < 0 ? better : worse).push_back(name);
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
