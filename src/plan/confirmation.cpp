#include "plan/confirmation.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/random.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// Returns the number of keys at a share of those that a head of the layer sees.
Index keys_of(const PlanSpace& space, int layer, double share) {
  const auto all = static_cast<double>(space.keys(layer, 0));
  return std::min(std::max(static_cast<Index>(std::floor(share * all + 1e-9)), Index{1}),
                  space.keys(layer, 0));
}

MethodResult& of(BudgetResult& budget, Method method) {
  return budget.methods[static_cast<std::size_t>(method)];
}

void add(ByDocument& sum, const ByDocument& values) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
}

// Returns the mean over draws, number by number.
Judged mean_draw(std::span<const Judged> draws) {
  Judged sum = draws.front();
  for (const Judged& draw : draws.subspan(1)) {
    add(sum.text, draw.text);
    add(sum.replay, draw.replay);
    add(sum.same_token, draw.same_token);
    for (std::size_t t = 0; t < sum.answers.size(); ++t) {
      add(sum.answers[t], draw.answers[t]);
      add(sum.right[t], draw.right[t]);
    }
  }
  const auto divide = [&](ByDocument& values) {
    for (double& value : values) value /= static_cast<double>(draws.size());
  };
  divide(sum.text);
  divide(sum.replay);
  divide(sum.same_token);
  std::ranges::for_each(sum.answers, divide);
  std::ranges::for_each(sum.right, divide);
  return sum;
}

}  // namespace

PerHead<HeadPlan> equal_windows(const PlanSpace& space, double share) {
  PerHead<HeadPlan> plan(space.layers(), space.heads());
  plan.each([&](int layer, int, HeadPlan& head) {
    const Index keys = keys_of(space, layer, share);
    if (space.changes(layer) && keys < space.keys(layer, 0)) head = {sinks_and_window(keys), ""};
  });
  return plan;
}

PerHead<HeadPlan> heaviest_keys(const PlanSpace& space, double share) {
  PerHead<HeadPlan> plan(space.layers(), space.heads());
  plan.each([&](int layer, int, HeadPlan& head) {
    const Index keys = keys_of(space, layer, share);
    if (space.changes(layer) && keys < space.keys(layer, 0))
      head = {fmt::format("topk:k={}", keys), ""};
  });
  return plan;
}

PerHead<HeadPlan> dealt(const PlanSpace& space, const PerHead<HeadPlan>& plan, std::uint64_t seed,
                        std::uint32_t draw) {
  const std::vector<HeadGroup> units = space.units();
  std::map<Index, std::vector<HeadPlan>> entries;  // by the number of keys that heads of their
                                                   // layer see
  for (const HeadGroup& unit : units) {
    entries[space.keys(unit.layer, 0)].push_back(plan(unit.layer, unit.heads.front()));
  }
  std::uint32_t group = 0;
  for (auto& [keys, of_group] : entries) {
    shuffle(of_group, RandomStream(seed, RandomDomain::dealt_plans, draw, group++));
  }
  PerHead<HeadPlan> other(plan.layers(), plan.heads());
  for (const HeadGroup& unit : units) {
    std::vector<HeadPlan>& left = entries[space.keys(unit.layer, 0)];
    for (const int head : unit.heads) other(unit.layer, head) = left.back();
    left.pop_back();
  }
  return other;
}

std::size_t shown_below(std::span<const ByDocument> changes, double rise) {
  const auto failed = std::ranges::find_if(changes, [&](const ByDocument& change) {
    return !(t_test(change, rise, Tail::below).p <= kShown);
  });
  return static_cast<std::size_t>(failed - changes.begin());
}

double dealt_p(double cost, std::span<const double> costs_of_dealt) {
  const auto as_low =
      std::ranges::count_if(costs_of_dealt, [&](double other) { return other <= cost; });
  return static_cast<double>(1 + as_low) / static_cast<double>(1 + costs_of_dealt.size());
}

bool stays_below(const Judged& change, const Allowances& allowed) {
  const auto below = [](const ByDocument& rises, double most) {
    return shown_below({&rises, 1}, most) == 1;
  };
  if (!below(change.text, allowed.text)) return false;
  if (!change.replay.empty() && !below(change.replay, allowed.replay)) return false;
  return std::ranges::all_of(change.answers,
                             [&](const ByDocument& task) { return below(task, allowed.answers); });
}

double confirmed_losses(int random_plans) {
  return kMethods - 1 + random_plans;
}

void confirm_budget(BudgetResult& budget, const PlanSpace& space, JointChange& loss,
                    int random_plans, std::uint64_t seed,
                    const std::function<void(const std::string&)>& tick) {
  budget.methods.resize(kMethods);
  const auto try_plan = [&](Method method, PerHead<HeadPlan> plan) {
    tick(method_text(method));
    if (plan.empty()) return;
    const double share = cache_share(plan, space.source(), space.context());
    Judged change = loss.change(plan);
    of(budget, method) = {std::move(plan), share, std::move(change)};
  };
  const double share = space.share_of_changed(budget.allowed);
  try_plan(Method::plan, budget.plan);
  try_plan(Method::windows, equal_windows(space, share));
  try_plan(Method::layers, budget.by_layer);
  try_plan(Method::heaviest_keys, heaviest_keys(space, share));

  std::vector<double> costs;
  for (int draw = 0; draw < random_plans; ++draw) {
    tick(method_text(Method::random));
    budget.draws.push_back(
        loss.change(dealt(space, budget.plan, seed, static_cast<std::uint32_t>(draw))));
    costs.push_back(loss.cost(budget.draws.back()));
  }
  if (budget.draws.empty()) return;
  budget.dealt_p = dealt_p(loss.cost(of(budget, Method::plan).change), costs);
  of(budget, Method::random) = {{}, budget.share, mean_draw(budget.draws)};
}

const char* method_text(Method method) {
  switch (method) {
    case Method::plan:
      return "plan";
    case Method::windows:
      return "equal windows, sinks";
    case Method::layers:
      return "by layer";
    case Method::random:
      return "random heads";
    case Method::heaviest_keys:
      return "heaviest keys";
  }
  return "";
}

}  // namespace headgauge
