#include "plan/confirmation.hpp"

#include <utility>

#include "plan/rivals.hpp"

namespace headgauge {
namespace {

MethodResult& of(BudgetResult& budget, Method method) {
  return budget.methods[static_cast<std::size_t>(method)];
}

}  // namespace

double confirmed_losses(int random_plans) {
  return kMethods - 1 + random_plans;
}

void confirm_budget(BudgetResult& budget, const PlanSpace& space, Paths& paths, JointChange& loss,
                    int random_plans, std::uint64_t seed,
                    const std::function<void(const std::string&)>& tick) {
  budget.methods.resize(kMethods);
  const auto try_plan = [&](Method method, PerHead<HeadPlan> plan) {
    tick(method_text(method));
    if (plan.empty()) return;
    const double share = cache_share(plan, space.source(), space.context());
    ByDocument change = loss.change(plan);
    of(budget, method) = {std::move(plan), share, std::move(change)};
  };
  const double share = budget.allowed;
  try_plan(Method::plan, budget.plan);
  try_plan(Method::windows, equal_windows(space, share, false));
  try_plan(Method::sinks, equal_windows(space, share, true));
  try_plan(Method::pyramid, paths.best_pyramid(share));
  const SearchPoint* layers = best_within(paths.by_layer(), share);
  try_plan(Method::layers, layers != nullptr ? space.plan(layers->choices) : PerHead<HeadPlan>());
  try_plan(Method::converge, paths.budgets_within(share));
  try_plan(Method::heaviest_keys, heaviest_keys(space, share));

  ByDocument sum(static_cast<std::size_t>(loss.documents()));
  for (int draw = 0; draw < random_plans; ++draw) {
    tick(method_text(Method::random));
    budget.draws.push_back(
        loss.change(dealt(space, budget.plan, seed, static_cast<std::uint32_t>(draw))));
    for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += budget.draws.back()[d];
  }
  if (budget.draws.empty()) return;
  for (double& value : sum) value /= random_plans;
  of(budget, Method::random) = {{}, budget.share, std::move(sum)};
}

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

}  // namespace headgauge
