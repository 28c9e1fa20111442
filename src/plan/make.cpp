// Runs search and confirmation; see plan.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/heads.hpp"
#include "plan/confirmation.hpp"
#include "plan/gate_search.hpp"
#include "plan/made.hpp"
#include "plan/output.hpp"
#include "plan/tasks.hpp"
#include "scan/stopwatch.hpp"

namespace headgauge {
namespace {

// Returns the number of tokens in every document of the sources. Throws UsageError if a source has
// no document, BadInputError if lengths differ or are below `least`; `who` begins the message.
Index common_length(const std::vector<HeadSource*>& sources, const std::string& who, Index least) {
  std::set<Index> lengths;
  for (const HeadSource* source : sources) {
    const auto& documents = source->info().documents;
    if (documents.empty()) {
      throw UsageError(fault(who, "documents in every set of texts", "a set without documents",
                             "give more text"));
    }
    lengths.insert(documents.begin(), documents.end());
  }
  if (lengths.size() == 1 && *lengths.begin() >= least) return *lengths.begin();
  throw BadInputError(
      fault(who, fmt::format("documents of the same number of tokens, at least {}", least),
            fmt::format("{} to {} tokens", *lengths.begin(), *lengths.rbegin()),
            "cut them to one length"));
}

constexpr double kDefaultMemory = 0.5;
constexpr double kStakesShare = 1.0 / 8;
constexpr int kExchanges = 6;  // tried for a share
constexpr int kOffers = 8;     // plans between two shares that are offered to `allow`

void require(bool fits, const char* option, const char* expected, double found) {
  if (fits) return;
  throw UsageError(fault(option, expected, fmt::format("{}", found), "correct it"));
}

HeadSelection changed_layers(const PlanOptions& options, const SourceInfo& source) {
  return HeadSelection(options.layers, "", source.layers, source.kv_heads, "PlanOptions",
                       source.without_attention);
}

// Returns the default curve as shares of the whole cache, of which the layers that do not change
// hold `fixed`.
std::vector<double> default_curve(double fixed) {
  std::vector<double> curve = PlanOptions().curve;
  for (double& share : curve) share = fixed + (1 - fixed) * share;
  return curve;
}

// Returns the options with defaults filled in.
PlanOptions checked(PlanOptions options, const PlanTexts& texts, Index context) {
  const SourceInfo& source = texts.search.texts.info();
  if (!source.has_loss) {
    throw UnsupportedError(fault("plan", "a model that predicts next tokens", source.name,
                                 "plans are judged by what they do to its losses"));
  }
  if (options.layers.empty()) options.layers = source.layers_without_window(context);
  const double fixed = fixed_share(source, changed_layers(options, source), context);
  if (options.curve == PlanOptions().curve) options.curve = default_curve(fixed);
  if (!options.memory && !options.allow) options.memory = fixed + (1 - fixed) * kDefaultMemory;
  const auto is_share = [](double share) { return share > 0 && share < 1; };
  constexpr const char* kShare = "a share of the cache between 0 and 1";
  if (options.memory)
    require(is_share(*options.memory), "PlanOptions::memory", kShare, *options.memory);
  for (const double share : options.curve) {
    require(is_share(share), "PlanOptions::curve", kShare, share);
  }
  if (options.allow) {
    require(*options.allow > 0, "PlanOptions::allow", "nats above 0", *options.allow);
    if (const auto checks = std::ssize(texts.check.texts.info().documents); checks < 2) {
      throw BadInputError(
          fault("PlanOptions::allow", "at least 2 pieces of text that take no part in the search",
                fmt::format("{}", checks), "give more text to select on, in pieces"));
    }
  }
  for (const auto& [rise, option] : {std::pair{options.allow_replay, "PlanOptions::allow_replay"},
                                     {options.allow_answers, "PlanOptions::allow_answers"}}) {
    if (!rise) continue;
    require(*rise > 0, option, "nats above 0", *rise);
    if (options.allow) continue;
    throw UsageError(fault(option, "PlanOptions::allow, a rise of the loss of text", "none",
                           "allow a rise of the loss of text too"));
  }
  if (options.allow_replay && texts.search.replayed == 0) {
    throw UsageError(fault("PlanOptions::allow_replay", "pieces with a replay", "none",
                           "give longer pieces, or a shorter replay"));
  }
  if (options.allow_answers && texts.search.cases == nullptr) {
    throw UsageError(fault("PlanOptions::allow_answers", "tasks to search on", "none",
                           "add tasks, or leave it out"));
  }
  return options;
}

std::string share_label(double share) {
  return fmt::format("{:.4g} %", 100 * share);
}

// A candidate plan, and what it was found by.
struct FoundPlan {
  PerHead<HeadPlan> plan;
  std::string start;
};

class PlanMaker {
 public:
  PlanMaker(const PlanTexts& texts, const PlanOptions& options, Progress* progress,
            const std::stop_token& stop)
      : texts_(texts),
        context_(common_length({&texts.search.texts, &texts.check.texts, &texts.confirm.texts},
                               "plan", 2)),
        options_(checked(options, texts, context_)),
        kept_windows_(options.layers.empty() && !options_.layers.empty()),
        is_default_curve_(options.curve == PlanOptions().curve),
        fixed_(fixed_share(source(), changed_layers(options_, source()), context_)),
        progress_(progress),
        stop_(stop),
        known_(options_.journal),
        space_(source(), context_, candidates_of(options_, shares_of_changed(), context_),
               options_.whole_layers, changed_layers(options_, source())),
        loss_(texts.search, "search", known_, stop),
        check_(texts.check, "check", known_, stop),
        confirm_(texts.confirm, "confirm", known_, stop),
        gates_(space_, loss_, options_, progress_) {
    // Fails early, before the expensive work.
    if (is_default_curve_) {
      std::erase_if(options_.curve, [&](double share) { return !has_room(share); });
    }
    for (const double share : shares()) require_room(share);
  }

  PlanResults run() {
    progress_.begin("tasks", 0, 0, 1);
    tasks_ = measure_tasks(texts_.cases, stop_);
    replay_ = replays(check_.original(), confirm_.original());
    check_.judge_only(replay_, tasks_.done);
    loss_.judge_only(replay_, check_.tasks());
    check_.weigh_by(stakes());
    loss_.weigh_as(check_);
    fit_into_memory();
    confirm();
    return write_plan_results({texts_, options_, kept_windows_, space_, budgets_, tasks_,
                               confirm_.tasks(), confirm_.original(), loss_.weights(),
                               loss_.computed() + check_.computed() + confirm_.computed(),
                               watch_.seconds()});
  }

 private:
  const SourceInfo& source() const { return texts_.search.texts.info(); }

  std::vector<double> shares() const {
    std::vector<double> shares = options_.curve;
    if (options_.memory) shares.insert(shares.begin(), *options_.memory);
    std::vector<double> once;
    for (const double share : shares) {
      if (std::ranges::count(once, share) == 0) once.push_back(share);
    }
    return once;
  }

  // Returns what the shares leave of the layers that are changed.
  std::vector<double> shares_of_changed() const {
    std::vector<double> of = shares();
    for (double& share : of) share = share_of_changed(share, fixed_);
    return of;
  }

  double share_of(const PerHead<HeadPlan>& plan) const {
    return cache_share(plan, space_.source(), context_);
  }

  PerHead<HeadPlan> windows_within(double share) const {
    return equal_windows(space_, space_.share_of_changed(share));
  }

  // Returns the plan whose losses are at stake: all heads see little of the context.
  PerHead<HeadPlan> stakes() const { return equal_windows(space_, kStakesShare); }

  bool has_room(double share) const { return space_.share(space_.smallest()) <= share + 1e-12; }

  // Requires a share that the smallest choice of every head, and equal windows, fit into.
  void require_room(double share) const {
    const double one_key = options_.whole_layers ? 0 : share_of(windows_within(share));
    if (has_room(share) && one_key <= share + 1e-12) return;
    const bool asked = options_.memory && *options_.memory == share;
    throw UsageError(
        fault(asked ? "PlanOptions::memory" : "PlanOptions::curve",
              fmt::format("a share of at least {:.4f}, the smallest choice in all heads",
                          std::max(one_key, space_.share(space_.smallest()))),
              fmt::format("{}", share), "ask for more, or give a smaller pattern or longer texts"));
  }

  // Takes what the gates prefer, or the rival, by the check. Then heads whose gates are the least
  // clear try another choice, and keep it if the check's cost falls.
  BudgetResult within(double share) {
    gates_.move_to(share);
    Choices choices = gates_.preferred(share);
    const auto fits = [&](const Choices& some) { return space_.share(some) <= share + 1e-12; };
    const auto checked = [&](const PerHead<HeadPlan>& plan) {
      progress_.step(share_label(share) + ", check");
      return check_.cost(check_.change(plan));
    };
    double cost = checked(space_.plan(choices));
    const std::vector<GateSearch::Ban> unclear = gates_.unclear(share);
    Exchanges exchanges{.unclear = static_cast<int>(std::ssize(unclear))};
    std::vector<GateSearch::Ban> bans;
    for (const GateSearch::Ban& ban : unclear) {
      if (exchanges.tried == kExchanges) break;
      std::vector<GateSearch::Ban> more = bans;
      more.push_back(ban);
      const Choices tried = gates_.preferred(share, more);
      if (!fits(tried)) continue;
      ++exchanges.tried;
      const double with_it = checked(space_.plan(tried));
      if (!(with_it < cost)) continue;
      ++exchanges.kept;
      bans = std::move(more);
      choices = tried;
      cost = with_it;
    }
    FoundPlan best{space_.plan(choices), kGates};
    if (!options_.whole_layers) {
      const PerHead<HeadPlan> windows = windows_within(share);
      if (const double other = checked(windows); other < cost) {
        best = {windows, "equal windows, sinks"};
        cost = other;
      }
    }
    BudgetResult result = made(share_label(share), best.plan, best.start);
    result.check_cost = cost;
    result.allowed = share;
    result.asked = share;
    result.by_layer = by_layer(share);
    result.exchanges = exchanges;
    return result;
  }

  // Returns the plan of whole layers that the gates prefer within a share; empty if none fits.
  PerHead<HeadPlan> by_layer(double share) const {
    const Choices choices = gates_.preferred_by_layer(share);
    return space_.share(choices) > share + 1e-12 ? PerHead<HeadPlan>() : space_.plan(choices);
  }

  BudgetResult made(std::string label, const PerHead<HeadPlan>& plan, std::string start) {
    BudgetResult result;
    result.label = std::move(label);
    result.plan = plan;
    result.share = result.allowed = share_of(plan);
    result.start = std::move(start);
    result.check_change = mean(check_.change(plan).text);
    return result;
  }

  // Searches from the largest share down, each time from where the gates are.
  void fit_into_memory() {
    const std::vector<double> asked = shares();
    std::vector<double> all = asked;
    if (all.empty()) {
      all = default_curve(fixed_);
      std::erase_if(all, [&](double share) { return !has_room(share); });
    }
    if (all.empty()) all = {space_.share(space_.smallest())};
    std::ranges::sort(all, std::greater());
    const double part = 0.75 / static_cast<double>(all.size());
    double before = 1;
    for (const double share : all) {
      const double from = part * static_cast<double>(budgets_.size());
      progress_.begin("search", from, from + part, options_.steps + kExchanges + 2);
      budgets_.push_back(within(share));
      offer(before, share);
      before = share;
    }
    // A plan of a smaller share fits into a larger one, too.
    for (std::size_t b = budgets_.size() - 1; b-- > 0;) {
      if (budgets_[b + 1].check_cost < budgets_[b].check_cost)
        take_over(budgets_[b + 1], budgets_[b]);
    }
    std::vector<BudgetResult> as_asked;
    for (const double share : asked) {
      const auto place = std::ranges::find(all, share) - all.begin();
      as_asked.push_back(std::move(budgets_[static_cast<std::size_t>(place)]));
    }
    budgets_ = std::move(as_asked);
    if (options_.allow) budgets_.insert(budgets_.begin(), within_rise(*options_.allow));
  }

  static void take_over(const BudgetResult& from, BudgetResult& to) {
    to.plan = from.plan;
    to.share = from.share;
    to.start = "that of " + from.label;
    to.exchanges = {};
    to.check_change = from.check_change;
    to.check_cost = from.check_cost;
  }

  // Offers what the gates prefer at shares between two, most keys first.
  void offer(double most, double least) {
    for (int k = kOffers - 1; options_.allow && k >= 0; --k) {
      const double share = least + (most - least) * k / kOffers;
      const Choices choices = gates_.preferred(share);
      if (space_.share(choices) <= share + 1e-12) offers_.push_back(space_.plan(choices));
    }
  }

  // Tests plans from most keys to fewest, as long as the check documents show rises below what is
  // allowed. Because the order is fixed and testing stops at the first failure, the error rate is
  // that of a single test.
  BudgetResult within_rise(double rise) {
    const Allowances allowed{rise, options_.allow_replay.value_or(rise),
                             options_.allow_answers.value_or(rise)};
    FoundPlan taken{space_.plan(space_.same(0)), "no smaller plan was shown to stay below"};
    for (const PerHead<HeadPlan>& offer : offers_) {
      if (!stays_below(check_.change(offer), allowed)) break;
      taken = {offer, kGates};
    }
    BudgetResult result = made(fmt::format("rise of {:g}", rise), taken.plan, taken.start);
    result.by_layer = by_layer(result.share);
    return result;
  }

  void confirm() {
    progress_.begin("confirm", 0.75, 1,
                    static_cast<double>(budgets_.size()) * confirmed_losses(options_.random_plans));
    confirm_.judge_only(replay_, tasks_.done);
    if (options_.random_plans > 0) confirm_.weigh_by(stakes());  // only these compare by the cost
    for (BudgetResult& budget : budgets_) {
      confirm_budget(budget, space_, confirm_, options_.random_plans, options_.seed,
                     [&](const std::string& what) { progress_.step(what); });
    }
  }

  Stopwatch watch_;
  const PlanTexts& texts_;
  Index context_;
  PlanOptions options_;
  bool kept_windows_;  // layers with a window of the model's own are not changed, by default
  bool is_default_curve_;
  double fixed_;  // share of the cache, in layers that are not changed
  Parts progress_;
  std::stop_token stop_;
  Evaluations known_;
  PlanSpace space_;
  JointChange loss_;     // on the search documents
  JointChange check_;    // on the check documents
  JointChange confirm_;  // on the confirming documents
  GateSearch gates_;
  MeasuredTasks tasks_;
  bool replay_ = false;                    // the replay is judged
  std::vector<PerHead<HeadPlan>> offers_;  // for `allow`, most keys first
  std::vector<BudgetResult> budgets_;
};

}  // namespace

PlanResults make_plan(const PlanTexts& texts, const PlanOptions& options, Progress* progress,
                      std::stop_token stop) {
  try {
    return PlanMaker(texts, options, progress, stop).run();
  } catch (const Stopped&) {
    PlanResults stopped;
    stopped.results.command = Command::plan;
    stopped.results.partial = true;
    return stopped;
  }
}

}  // namespace headgauge
