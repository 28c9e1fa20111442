// Screening, search, and confirmation, in that order; see plan.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "plan/made.hpp"
#include "plan/output.hpp"
#include "plan/rivals.hpp"
#include "plan/screening.hpp"
#include "scan/stopwatch.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kDefaultMemory = 0.5;
constexpr int kRounds = 2;  // of exchange()
constexpr double kSlopes[] = {-0.9, -0.6, -0.3, 0.3, 0.6, 0.9};
constexpr std::size_t kChecked = 24;  // points of a path that are checked for `allow`

Index common_length(const PlanTexts& texts) {
  std::set<Index> lengths;
  for (const HeadSource* source : {&texts.search, &texts.check, &texts.confirm}) {
    const auto& documents = source->info().documents;
    if (documents.empty()) {
      throw UsageError(fault("plan", "documents to search, to check and to confirm", "none of one",
                             "give more text"));
    }
    lengths.insert(documents.begin(), documents.end());
  }
  if (lengths.size() == 1 && *lengths.begin() >= 2) return *lengths.begin();
  throw BadInputError(fault("plan", "documents of the same number of tokens, at least 2",
                            fmt::format("{} to {} tokens", *lengths.begin(), *lengths.rbegin()),
                            "cut them to one length"));
}

void require(bool fits, const char* option, const char* expected, double found) {
  if (fits) return;
  throw UsageError(fault(option, expected, fmt::format("{}", found), "correct it"));
}

// The options with what is absent filled in.
PlanOptions checked(PlanOptions options) {
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
  }
  if (options.objective == PlanObjective::loss && (options.memory || options.allow)) {
    throw UsageError(fault("PlanOptions::objective", "memory, where a share or a rise is given",
                           "loss", "leave the share and the rise out"));
  }
  return options;
}

std::string share_label(double share) {
  return fmt::format("{:.4g} %", 100 * share);
}

nlohmann::ordered_json identity_of(const PlanTexts& texts) {
  nlohmann::ordered_json identity;
  for (const auto& [name, source] : {std::pair<const char*, HeadSource*>{"search", &texts.search},
                                     {"check", &texts.check},
                                     {"confirm", &texts.confirm}}) {
    Results described;
    source->describe(described);
    identity["config_sha256"] = described.model.value("config_sha256", "");
    identity["weights_sha256"] = described.model.value("weights_sha256", "");
    identity[name] = described.text;
  }
  return identity;
}

// The parts of the work, each a share of the whole, as one progress.
class Parts {
 public:
  explicit Parts(Progress* whole) : whole_(whole) {}
  void begin(std::string name, double from, double to) {
    name_ = std::move(name);
    from_ = from;
    to_ = to;
    done_ = 0;
  }
  // At least as far as before.
  void update(const std::string& what, double done) {
    done_ = std::max(done_, std::min(done, 1.0));
    if (whole_ != nullptr) {
      whole_->update(fmt::format("{} {}", name_, what), from_ + (to_ - from_) * done_, 1);
    }
  }

 private:
  Progress* whole_;
  std::string name_;
  double from_ = 0, to_ = 1, done_ = 0;
};

class PlanMaker {
 public:
  PlanMaker(const PlanTexts& texts, const PlanOptions& options, Progress* progress,
            const std::stop_token& stop)
      : texts_(texts),
        options_(checked(options)),
        progress_(progress),
        stop_(stop),
        context_(common_length(texts)),
        known_(options_.state, identity_of(texts)),
        space_(texts.search.info(), context_,
               candidates_of(options_, shares(), texts.search.info(), context_)),
        loss_(texts.search, "search", known_, stop),
        check_(texts.check, "check", known_, stop),
        search_(space_, loss_, [this](const SearchPoint& at) { tick(at); }) {}

  PlanResults run() {
    if (context_ >= kShortestContext) {
      converged_.emplace(texts_.search, context_, options_.seed, options_.threads, nullptr, stop_);
    }
    screen();
    options_.objective == PlanObjective::loss ? lower_the_loss() : fit_into_memory();
    confirm();
    known_.save();
    return write_plan_results({texts_, options_, space_, screening_, budgets_,
                               loss_.computed() + check_.computed() + confirmed_,
                               watch_.seconds()});
  }

  void save() { known_.save(); }

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

  // `done`: how far the search is at a point; none: that many ticks are all.
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
    if (!outputs.empty()) expect_by_output(outputs);
  }

  // Of what was not measured the loss is taken to rise with the change of the output, as it does in
  // the mean of what was; until a move is measured.
  void expect_by_output(const PerHead<std::vector<double>>& outputs) {
    double loss = 0, output = 0;
    auto of_head = outputs.begin();
    for (std::size_t g = 0; g < effects_.size(); ++g) {
      for (std::size_t c = 1; c < effects_[g].size(); ++c) {
        if (std::isnan(effects_[g][c])) continue;
        loss += std::abs(effects_[g][c]);
        output += of_head[static_cast<std::ptrdiff_t>(g)][c];
      }
    }
    for (std::size_t g = 0; g < effects_.size(); ++g) {
      for (std::size_t c = 1; c < effects_[g].size(); ++c) {
        if (!std::isnan(effects_[g][c])) continue;
        effects_[g][c] =
            output > 0 ? of_head[static_cast<std::ptrdiff_t>(g)][c] * loss / output : 0;
      }
    }
  }

  double checked_change(const Choices& choices) {
    return mean(check_.change(space_.plan(choices)));
  }

  // The point of the lowest loss that fits into the share.
  static const SearchPoint* best_within(const std::vector<SearchPoint>& points, double share) {
    const SearchPoint* best = nullptr;
    for (const SearchPoint& point : points) {
      if (point.share > share + 1e-12) continue;
      if (best == nullptr || point.change < best->change) best = &point;
    }
    return best;
  }

  void walk_paths(double least, double most) {
    const auto heads = space_.single_heads(), layers = space_.whole_layers();
    const auto fewer = [=](const SearchPoint& at) { return (1 - at.share) / (1 - least); };
    begin("search: fewer keys", 0.25, 0.45, 1, fewer);
    shrunk_ = search_.shrink(space_.same(0), heads, effects_, least);
    begin("search: more keys", 0.45, 0.55, 1,
          [=](const SearchPoint& at) { return at.share / most; });
    grown_ = search_.grow(space_.smallest(), heads, effects_, most);
    begin("search: layers", 0.55, 0.6, 1, fewer);
    Effects of_layers;
    for (const auto& found : search_.alone(layers, {})) {
      std::vector<double>& effects = of_layers.emplace_back(1, 0.0);
      for (int choice = 1; choice < space_.size(); ++choice) {
        effects.push_back(mean(found[static_cast<std::size_t>(choice)]));
      }
    }
    by_layer_ = search_.shrink(space_.same(0), layers, of_layers, least);
  }

  // The number of the choice of sinks and a window that is as large as the share allows.
  std::optional<int> equal_choice(double share) const {
    std::optional<int> best;
    for (int choice = 1; choice < space_.size(); ++choice) {
      if (space_.choice(choice).pattern.empty()) continue;
      if (space_.share(space_.same(choice)) > share + 1e-12) continue;
      if (!best || space_.keys(0, choice) > space_.keys(0, *best)) best = choice;
    }
    return best;
  }

  // Every head's window as large as the converged budget allows.
  std::optional<Choices> rounded(const PerHead<HeadPlan>& budgets) const {
    Choices choices = space_.same(0);
    bool fits = true;
    choices.each([&](int layer, int head, int& chosen) {
      const HeadPlan& budget = budgets(layer, head);
      if (!budget.changes()) return;
      const Index keys = cached_keys(budget, layer, space_.source(), context_);
      std::optional<int> best;
      for (int choice = 1; choice < space_.size(); ++choice) {
        if (space_.choice(choice).pattern.empty() || space_.keys(layer, choice) > keys) continue;
        if (!best || space_.keys(layer, choice) > space_.keys(layer, *best)) best = choice;
      }
      fits = fits && best;
      if (best) chosen = *best;
    });
    return fits ? std::optional(choices) : std::nullopt;
  }

  struct Found {
    PerHead<HeadPlan> plan;
    std::string start;
  };

  // The starts within the share, and what the search finds from the best of them.
  std::vector<Found> search_within(double share) {
    std::vector<std::pair<SearchPoint, std::string>> points;
    if (const auto equal = equal_choice(share)) {
      points.emplace_back(search_.point(space_.same(*equal)), "equal windows, sinks");
    }
    for (const auto& [path, start] : {std::pair{&by_layer_, "layers"},
                                      {&shrunk_, "full attention"},
                                      {&grown_, "the smallest windows"}}) {
      if (const SearchPoint* best = best_within(*path, share)) points.emplace_back(*best, start);
    }
    std::vector<Found> found = {{equal_windows(space_, share, false), "equal windows"},
                                {best_pyramid(share), "pyramid"}};
    if (converged_) {
      if (auto budgets = converged_->plan(space_, share); !budgets.empty()) {
        if (const auto start = rounded(budgets)) {
          points.emplace_back(search_.point(*start), "converge budgets");
        }
        found.push_back({std::move(budgets), "converge budgets"});
      }
    }
    if (!points.empty()) {
      const auto best = std::ranges::min_element(
          points, {}, [](const auto& point) { return point.first.change; });
      points.emplace_back(search_.exchange(best->first, space_.single_heads(), share, kRounds),
                          best->second + ", then exchanges");
    }
    for (const auto& [point, start] : points) found.push_back({space_.plan(point.choices), start});
    return found;
  }

  // What loses least on the check, of all starts and of what was found from them, is the plan.
  BudgetResult within(double share) {
    const Found* best = nullptr;
    double least = kUndefined;
    const std::vector<Found> found = search_within(share);
    for (const Found& one : found) {
      if (cache_share(one.plan, space_.source(), context_) > share + 1e-12) continue;
      const double change = mean(check_.change(one.plan));
      if (best != nullptr && !(change < least)) continue;
      best = &one;
      least = change;
    }
    if (best == nullptr) {
      throw UsageError(fault("PlanOptions::memory",
                             fmt::format("a share of at least {:.4f}, what the smallest of the "
                                         "candidates keep",
                                         space_.share(space_.smallest())),
                             fmt::format("{}", share), "give smaller patterns"));
    }
    BudgetResult result = made(share_label(share), best->plan, best->start);
    result.allowed = share;
    return result;
  }

  BudgetResult made(std::string label, const PerHead<HeadPlan>& plan, std::string start) {
    BudgetResult result;
    result.label = std::move(label);
    result.plan = plan;
    result.share = result.allowed = cache_share(plan, space_.source(), context_);
    result.start = std::move(start);
    result.search_change = mean(loss_.change(plan));
    result.check_change = mean(check_.change(plan));
    return result;
  }

  void fit_into_memory() {
    const std::vector<double> all = shares();
    const double least = all.empty() ? 0.02 : *std::ranges::min_element(all);
    const double most = all.empty() ? 1 : *std::ranges::max_element(all);
    walk_paths(options_.allow ? std::min(least, 0.02) : least, options_.allow ? 1 : most);
    begin("exchange", 0.6, 0.75, static_cast<double>(all.size() * kRounds));
    for (const double share : all) budgets_.push_back(within(share));
    if (options_.allow) budgets_.insert(budgets_.begin(), within_rise(*options_.allow));
  }

  // The smallest share at which the loss is shown on the check to rise by less than `rise`: one by
  // one from the smallest, at most kChecked of the points at which no smaller one loses less.
  BudgetResult within_rise(double rise) {
    std::vector<SearchPoint> all = shrunk_;
    all.insert(all.end(), grown_.begin(), grown_.end());
    all.insert(all.end(), by_layer_.begin(), by_layer_.end());
    std::ranges::stable_sort(all, {}, &SearchPoint::share);
    std::vector<SearchPoint> front;
    for (SearchPoint& point : all) {
      if (point.change >= rise) continue;
      if (front.empty() || point.change < front.back().change) front.push_back(std::move(point));
    }
    const std::size_t step = (front.size() + kChecked - 1) / kChecked;
    for (std::size_t i = 0; step > 0 && i < front.size(); i += step) {
      const ByDocument change = check_.change(space_.plan(front[i].choices));
      if (!(t_test(change, rise, Tail::below).p <= 0.05)) continue;
      return made(fmt::format("rise of {:g}", rise), space_.plan(front[i].choices), "a path");
    }
    return made(fmt::format("rise of {:g}", rise), space_.plan(space_.same(0)),
                "nothing smaller was shown to stay below");
  }

  // Down the path of the lowest loss as far as the check follows.
  void lower_the_loss() {
    begin("search", 0.25, 0.75, static_cast<double>(space_.layers() * space_.heads()));
    const auto path = search_.lower(space_.same(0), space_.single_heads(), effects_);
    const SearchPoint* best = &path.front();
    double least = 0;
    for (const SearchPoint& point : path) {
      const double change = checked_change(point.choices);
      if (!(change < least)) continue;
      best = &point;
      least = change;
    }
    budgets_.push_back(made("lowest loss", space_.plan(best->choices), "full attention"));
  }

  void confirm() {
    const int methods = kMethods - 1;
    begin("confirm", 0.75, 1,
          static_cast<double>(budgets_.size()) * (methods + options_.random_plans));
    JointLoss confirm(texts_.confirm, "confirm", known_, stop_);
    for (BudgetResult& budget : budgets_) {
      budget.methods.resize(kMethods);
      const auto of = [&](Method method) -> MethodResult& {
        return budget.methods[static_cast<std::size_t>(method)];
      };
      const auto try_plan = [&](Method method, PerHead<HeadPlan> plan) {
        progress_.update(method_text(method), ++ticks_ / most_ticks_);
        if (plan.empty()) return;
        of(method) = {plan, cache_share(plan, space_.source(), context_), confirm.change(plan)};
      };
      const double share = budget.allowed;
      try_plan(Method::plan, budget.plan);
      try_plan(Method::windows, equal_windows(space_, share, false));
      try_plan(Method::sinks, equal_windows(space_, share, true));
      try_plan(Method::pyramid, best_pyramid(share));
      if (const SearchPoint* layers = best_within(by_layer_, share)) {
        try_plan(Method::layers, space_.plan(layers->choices));
      }
      if (converged_) try_plan(Method::converge, converged_->plan(space_, share));
      try_plan(Method::heaviest_keys, heaviest_keys(space_, share));
      deal(budget, confirm);
    }
    confirmed_ = confirm.computed();
  }

  void deal(BudgetResult& budget, JointLoss& confirm) {
    ByDocument sum(confirm.original().size());
    for (int draw = 0; draw < options_.random_plans; ++draw) {
      const auto plan = dealt(budget.plan, options_.seed, static_cast<std::uint32_t>(draw));
      progress_.update("random heads", ++ticks_ / most_ticks_);
      budget.draws.push_back(confirm.change(plan));
      for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += budget.draws.back()[d];
    }
    if (budget.draws.empty()) return;
    for (double& value : sum) value /= options_.random_plans;
    budget.methods[static_cast<std::size_t>(Method::random)] = {{}, budget.share, std::move(sum)};
  }

  PerHead<HeadPlan> best_pyramid(double share) {
    PerHead<HeadPlan> best;
    double least = kUndefined;
    for (const double slope : kSlopes) {
      auto plan = pyramid(space_, share, slope);
      const double change = mean(loss_.change(plan));
      if (!best.empty() && !(change < least)) continue;
      best = std::move(plan);
      least = change;
    }
    return best;
  }

  Stopwatch watch_;
  const PlanTexts& texts_;
  PlanOptions options_;
  Parts progress_;
  std::stop_token stop_;
  Index context_;
  Evaluations known_;
  PlanSpace space_;
  JointLoss loss_;   // on the texts of the search
  JointLoss check_;  // and on those of the check
  PlanSearch search_;
  double ticks_ = 0, most_ticks_ = 1;
  std::function<double(const SearchPoint&)> done_;
  std::optional<ConvergeBudgets> converged_;
  Screening screening_;
  Effects effects_;  // of single heads, from the screening
  std::vector<SearchPoint> shrunk_, grown_, by_layer_;
  std::vector<BudgetResult> budgets_;
  int confirmed_ = 0;
};

}  // namespace

const char* method_text(Method method) {
  switch (method) {
    case Method::plan:
      return "plan";
    case Method::windows:
      return "equal windows";
    case Method::sinks:
      return "equal windows, sinks";
    case Method::pyramid:
      return "pyramid";
    case Method::layers:
      return "by layer";
    case Method::converge:
      return "converge budgets";
    case Method::random:
      return "random heads";
    case Method::heaviest_keys:
      return "heaviest keys";
  }
  return "";
}

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
