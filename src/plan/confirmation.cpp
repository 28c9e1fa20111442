#include "plan/confirmation.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "plan/decisions.hpp"
#include "plan/rivals.hpp"

namespace headgauge {
namespace {

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
