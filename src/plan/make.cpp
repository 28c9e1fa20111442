// Runs screening, search and confirmation; see plan.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "plan/confirmation.hpp"
#include "plan/decisions.hpp"
#include "plan/documents.hpp"
#include "plan/made.hpp"
#include "plan/output.hpp"
#include "plan/parts.hpp"
#include "plan/paths.hpp"
#include "plan/rivals.hpp"
#include "plan/screening.hpp"
#include "scan/stopwatch.hpp"

namespace headgauge {
namespace {

constexpr double kDefaultMemory = 0.5;
constexpr double kLeastShare = 0.02;  // share at which paths end if none was requested
constexpr std::size_t kChecked = 24;  // maximum number of plans checked for `allow`

void require(bool fits, const char* option, const char* expected, double found) {
  if (fits) return;
  throw UsageError(fault(option, expected, fmt::format("{}", found), "correct it"));
}

UnsupportedError no_loss(const char* option, const SourceInfo& source) {
  return UnsupportedError(fault(option, "a model with a loss", source.name + ", which has none",
                                "ask for a share of the keys: PlanOptions::memory"));
}

// Returns the options with defaults filled in.
PlanOptions checked(PlanOptions options, const PlanTexts& texts) {
  const SourceInfo& source = texts.search.info();
  if (options.objective == PlanObjective::loss && !source.has_loss) {
    throw no_loss("PlanOptions::objective", source);
  }
  if (!options.memory && !options.allow && options.objective == PlanObjective::memory) {
    options.memory = kDefaultMemory;
  }
  const auto is_share = [](double share) { return share > 0 && share < 1; };
  constexpr const char* kShare = "a share of the cache between 0 and 1";
  if (options.memory)
    require(is_share(*options.memory), "PlanOptions::memory", kShare, *options.memory);
  for (const double share : options.curve) {
    require(is_share(share), "PlanOptions::curve", kShare, share);
  }
  if (options.allow) {
    require(*options.allow > 0, "PlanOptions::allow", "nats above 0", *options.allow);
    if (!source.has_loss) throw no_loss("PlanOptions::allow", source);
    if (const auto checks = std::ssize(texts.check.info().documents); checks < 2) {
      throw BadInputError(
          fault("PlanOptions::allow", "at least 2 pieces of text that take no part in the search",
                fmt::format("{}", checks), "give more text to select on, in pieces"));
    }
  }
  if (options.objective == PlanObjective::loss && (options.memory || options.allow)) {
    throw UsageError(fault("PlanOptions::objective", "memory if a share or a rise is given", "loss",
                           "leave the share and the rise out"));
  }
  if (options.objective == PlanObjective::loss && options.curve != PlanOptions().curve) {
    throw UsageError(fault("PlanOptions::curve", "the objective memory", "loss",
                           "leave the shares out: there is one plan of the lowest loss"));
  }
  return options;
}

std::string share_label(double share) {
  return fmt::format("{:.4g} %", 100 * share);
}

class PlanMaker {
 public:
  PlanMaker(const PlanTexts& texts, const PlanOptions& options, Progress* progress,
            const std::stop_token& stop)
      : texts_(texts),
        options_(checked(options, texts)),
        progress_(progress),
        stop_(stop),
        context_(common_length({&texts.search, &texts.check, &texts.confirm}, "plan", 2)),
        known_(options_.journal),
        space_(texts.search.info(), context_,
               candidates_of(options_, shares(), texts.search.info(), context_)),
        loss_(texts.search, "search", known_, stop),
        check_(texts.check, "check", known_, stop),
        search_(space_, loss_, [this](const SearchPoint& at) { tick(at); }),
        converged_(converge_budgets()),
        paths_(space_, loss_, search_, converged_ ? &*converged_ : nullptr) {}

  PlanResults run() {
    screen();
    options_.objective == PlanObjective::loss ? lower_the_loss() : fit_into_memory();
    confirm();
    return write_plan_results({texts_, options_, space_, screening_, budgets_,
                               loss_.computed() + check_.computed() + confirmed_,
                               watch_.seconds()});
  }

 private:
  std::vector<double> shares() const {
    std::vector<double> shares = options_.curve;
    if (options_.memory) shares.insert(shares.begin(), *options_.memory);
    std::vector<double> once;
    for (const double share : shares) {
      if (std::ranges::count(once, share) == 0) once.push_back(share);
    }
    return once;
  }

  void tick(const SearchPoint& at) {
    const double step = ++ticks_;
    progress_.update(share_label(at.share), done_ ? done_(at) : step / most_ticks_);
  }

  // `done` returns the progress of the search at a point; without it, progress is the number of
  // ticks out of `most_ticks`.
  void begin(const char* name, double from, double to, double most_ticks,
             std::function<double(const SearchPoint&)> done = {}) {
    ticks_ = 0;
    most_ticks_ = most_ticks;
    done_ = std::move(done);
    progress_.begin(name, from, to);
  }

  void screen() {
    begin("screen", 0, 0.25, space_.layers());
    const auto groups = space_.single_heads();
    PerHead<std::vector<double>> outputs;
    std::vector<std::vector<bool>> wanted;
    if (options_.screen > 0) {
      outputs = output_changes(texts_.search, space_, options_.threads, stop_);
      wanted = least_changed(outputs, options_.screen);
    }
    auto found = search_.alone(groups, wanted);
    screening_.changes = {space_.layers(), space_.heads()};
    for (int choice = 1; choice < space_.size(); ++choice) {
      screening_.candidates.push_back(space_.choice(choice));
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<double>& effects = effects_.emplace_back(1, 0.0);
      for (int choice = 1; choice < space_.size(); ++choice) {
        effects.push_back(found[g][choice].empty() ? kUndefined : mean(found[g][choice]));
      }
      found[g].erase(found[g].begin());
      screening_.changes(groups[g].layer, groups[g].heads.front()) = std::move(found[g]);
    }
    if (!outputs.empty()) expect_by_output(groups, outputs);
  }

  // Estimates the effect of unmeasured choices: proportional to the change of the output, with the
  // mean ratio of the measured ones. The estimates hold until the move is measured.
  void expect_by_output(const std::vector<HeadGroup>& groups,
                        const PerHead<std::vector<double>>& outputs) {
    double loss = 0, output = 0;
    const auto of_head = [&](std::size_t g) {
      return std::span(outputs(groups[g].layer, groups[g].heads.front()));
    };
    for (std::size_t g = 0; g < effects_.size(); ++g) {
      for (std::size_t c = 1; c < effects_[g].size(); ++c) {
        if (std::isnan(effects_[g][c])) continue;
        loss += std::abs(effects_[g][c]);
        output += of_head(g)[c];
      }
    }
    for (std::size_t g = 0; g < effects_.size(); ++g) {
      for (std::size_t c = 1; c < effects_[g].size(); ++c) {
        if (!std::isnan(effects_[g][c])) continue;
        effects_[g][c] = output > 0 ? of_head(g)[c] * loss / output : 0;
      }
    }
  }

  double checked_change(const Choices& choices) {
    return mean(check_.change(space_.plan(choices)));
  }

  void walk_paths(double least, double most) {
    const auto fewer = [=](const SearchPoint& at) { return (1 - at.share) / (1 - least); };
    begin("search: fewer keys", 0.25, 0.45, 1, fewer);
    paths_.shrink(effects_, least);
    begin("search: more keys", 0.45, 0.55, 1,
          [=](const SearchPoint& at) { return at.share / most; });
    paths_.grow(effects_, most);
    begin("search: layers", 0.55, 0.6, 1, fewer);
    paths_.shrink_layers(least);
  }

  double share_of(const PerHead<HeadPlan>& plan) const {
    return cache_share(plan, space_.source(), context_);
  }

  // Requires a share in which every head can have a window of one key.
  void require_room(double share) const {
    const double least = share_of(equal_windows(space_, share, false));
    if (least <= share + 1e-12) return;
    const bool asked = options_.memory && *options_.memory == share;
    throw UsageError(fault(asked ? "PlanOptions::memory" : "PlanOptions::curve",
                           fmt::format("a share of at least {:.4f}, one key for each head", least),
                           fmt::format("{}", share), "ask for more, or give longer texts"));
  }

  // Returns the plan with the lowest loss on the check texts.
  FoundPlan best_on_check(const std::vector<FoundPlan>& found) {
    const FoundPlan* best = nullptr;
    double least = kUndefined;
    for (const FoundPlan& one : found) {
      const double change = mean(check_.change(one.plan));
      if (best != nullptr && !(change < least)) continue;
      best = &one;
      least = change;
    }
    return *best;
  }

  BudgetResult within(double share) {
    std::vector<FoundPlan> found = paths_.found_within(share);
    for (const BudgetResult& smaller : budgets_) {
      found.push_back({smaller.plan, fmt::format("the plan of {}", smaller.label)});
    }
    std::erase_if(found, [&](const FoundPlan& one) { return share_of(one.plan) > share + 1e-12; });
    const FoundPlan best = best_on_check(found);
    found_.insert(found_.end(), found.begin(), found.end());
    BudgetResult result = made(share_label(share), best.plan, best.start);
    result.allowed = share;
    result.asked = share;
    return result;
  }

  BudgetResult made(std::string label, const PerHead<HeadPlan>& plan, std::string start) {
    BudgetResult result;
    result.label = std::move(label);
    result.plan = plan;
    result.share = result.allowed = share_of(plan);
    result.start = std::move(start);
    result.search_change = mean(loss_.change(plan));
    result.check_change = mean(check_.change(plan));
    return result;
  }

  void fit_into_memory() {
    const std::vector<double> asked = shares();
    std::vector<double> all = asked;
    std::ranges::sort(all);
    const double least = all.empty() ? kLeastShare : all.front();
    const double most = all.empty() ? 1 : all.back();
    walk_paths(options_.allow ? std::min(least, kLeastShare) : least, options_.allow ? 1 : most);
    begin("exchange", 0.6, 0.75, 2.0 * static_cast<double>(all.size()));
    // The smallest share first, because its plan also fits into larger shares.
    for (const double share : all) budgets_.push_back(within(share));
    std::vector<BudgetResult> as_asked;
    for (const double share : asked) {
      const auto place = std::ranges::lower_bound(all, share) - all.begin();
      as_asked.push_back(std::move(budgets_[static_cast<std::size_t>(place)]));
    }
    budgets_ = std::move(as_asked);
    if (options_.allow) budgets_.insert(budgets_.begin(), within_rise(*options_.allow));
  }

  // Tests plans from most keys to fewest, as long as the check texts show a rise of the loss below
  // `rise`. Because the order is fixed and testing stops at the first failure, the error rate is
  // that of a single test.
  BudgetResult within_rise(double rise) {
    const std::string label = fmt::format("rise of {:g}", rise);
    FoundPlan taken{space_.plan(space_.same(0)), "no smaller plan was shown to stay below"};
    for (FoundPlan& offer : offers_below(rise)) {
      const ByDocument change = check_.change(offer.plan);
      if (shown_below({&change, 1}, rise) == 0) break;
      taken = std::move(offer);
    }
    return made(label, taken.plan, taken.start);
  }

  // Returns the found plans whose rise on the search texts is below `rise` and that no plan with
  // fewer keys beats there: at most kChecked, most keys first.
  std::vector<FoundPlan> offers_below(double rise) {
    struct Offer {
      FoundPlan found;
      double share, change;
    };
    std::vector<Offer> all;
    for (const SearchPoint& point : paths_.all()) {
      all.push_back({{space_.plan(point.choices), "a path"}, point.share, point.change});
    }
    const auto add = [&](const FoundPlan& found) {
      all.push_back({found, share_of(found.plan), mean(loss_.change(found.plan))});
    };
    for (const FoundPlan& found : found_) add(found);
    for (int choice = 1; choice < space_.size(); ++choice) {
      const double share = space_.share(space_.same(choice));
      if (share >= 1) continue;
      for (const FoundPlan& found : paths_.rivals_within(share)) add(found);
    }
    std::ranges::stable_sort(all, {}, &Offer::share);
    std::vector<Offer> front;
    for (Offer& offer : all) {
      if (offer.change >= rise) continue;
      if (front.empty() || offer.change < front.back().change) front.push_back(std::move(offer));
    }
    const std::size_t step = (front.size() + kChecked - 1) / kChecked;
    std::vector<FoundPlan> offers;
    for (std::size_t i = 0; step > 0 && i < front.size(); i += step) {
      offers.insert(offers.begin(), std::move(front[i].found));
    }
    return offers;
  }

  // Finds the plan with the lowest loss on the check texts, regardless of its size; the unchanged
  // model is one of the candidates.
  void lower_the_loss() {
    walk_paths(kLeastShare, 1);
    begin("search: any", 0.6, 0.75, 4.0 * space_.layers() * space_.heads());
    paths_.lower_layers();
    std::vector<FoundPlan> found = {{space_.plan(space_.same(0)), "full attention"}};
    for (FoundPlan& one : paths_.lowest(effects_)) found.push_back(std::move(one));
    const FoundPlan best = best_on_check(found);
    budgets_.push_back(made("lowest loss", best.plan, best.start));
  }

  void confirm() {
    begin("confirm", 0.75, 1,
          static_cast<double>(budgets_.size()) * confirmed_losses(options_.random_plans));
    JointChange confirm(texts_.confirm, "confirm", known_, stop_);
    for (BudgetResult& budget : budgets_) {
      confirm_budget(
          budget, space_, paths_, confirm, options_.random_plans, options_.seed,
          [&](const std::string& what) { progress_.update(what, ++ticks_ / most_ticks_); });
    }
    confirmed_ = confirm.computed();
  }

  std::optional<ConvergeBudgets> converge_budgets() {
    // Fails early, before the expensive work.
    for (const double share : shares()) require_room(share);
    if (context_ < kShortestContext) return std::nullopt;
    return ConvergeBudgets(texts_.search, context_, options_.seed, options_.threads, nullptr,
                           stop_);
  }

  Stopwatch watch_;
  const PlanTexts& texts_;
  PlanOptions options_;
  Parts progress_;
  std::stop_token stop_;
  Index context_;
  Evaluations known_;
  PlanSpace space_;
  JointChange loss_;   // on the search texts
  JointChange check_;  // on the check texts
  PlanSearch search_;
  double ticks_ = 0, most_ticks_ = 1;
  std::function<double(const SearchPoint&)> done_;
  std::optional<ConvergeBudgets> converged_;
  Paths paths_;
  Screening screening_;
  Effects effects_;               // effects of single heads, from the screening
  std::vector<FoundPlan> found_;  // candidates for any share
  std::vector<BudgetResult> budgets_;
  int confirmed_ = 0;
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
