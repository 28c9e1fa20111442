#include "plan/starts.hpp"

#include <algorithm>

#include "plan/rivals.hpp"

namespace headgauge {
namespace {

constexpr double kSlopes[] = {-0.9, -0.6, -0.3, 0.3, 0.6, 0.9};

}  // namespace

// Returns the largest pattern that every head can have within the share.
std::optional<int> Starts::equal_choice(double share) const {
  std::optional<int> best;
  double most = 0;
  for (int choice = 1; choice < space_.size(); ++choice) {
    const double kept = space_.share(space_.same(choice));
    if (space_.choice(choice).pattern.empty() || kept > share + 1e-12 || kept <= most) continue;
    best = choice;
    most = kept;
  }
  return best;
}

// Gives every head the largest window within its converge() budget.
std::optional<Choices> Starts::rounded(const PerHead<HeadPlan>& budgets) const {
  Choices choices = space_.same(0);
  bool fits = true;
  choices.each([&](int layer, int head, int& chosen) {
    const HeadPlan& budget = budgets(layer, head);
    if (!budget.changes()) return;
    const Index keys = cached_keys(budget, layer, space_.source(), space_.context());
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

std::vector<FoundPlan> Starts::rivals_within(double share) {
  std::vector<FoundPlan> found = {{equal_windows(space_, share, false), "equal windows"},
                                  {equal_windows(space_, share, true), "equal windows, sinks"},
                                  {best_pyramid(share), "pyramid"}};
  if (auto budgets = budgets_within(share); !budgets.empty()) {
    found.push_back({std::move(budgets), "converge budgets"});
  }
  return found;
}

std::vector<Starts::Start> Starts::choices_within(double share) {
  std::vector<Start> starts;
  if (const auto equal = equal_choice(share)) {
    starts.push_back({space_.same(*equal), space_.choice(*equal).text() + " everywhere"});
  }
  if (const auto budgets = budgets_within(share); !budgets.empty()) {
    if (const auto start = rounded(budgets)) starts.push_back({*start, "converge budgets"});
  }
  std::erase_if(starts,
                [&](const Start& start) { return !space_.holds(space_.plan(start.choices)); });
  return starts;
}

// Returns the non-empty plan with the lowest cost on the search documents.
PerHead<HeadPlan> Starts::better_of(std::vector<PerHead<HeadPlan>> plans) {
  PerHead<HeadPlan> best;
  double least = kUndefined;
  for (PerHead<HeadPlan>& plan : plans) {
    if (plan.empty()) continue;
    const double change = loss_.cost(loss_.change(plan));
    if (!best.empty() && !(change < least)) continue;
    best = std::move(plan);
    least = change;
  }
  return best;
}

PerHead<HeadPlan> Starts::best_pyramid(double share) {
  std::vector<PerHead<HeadPlan>> plans;
  for (const double slope : kSlopes) plans.push_back(pyramid(space_, share, slope));
  return better_of(std::move(plans));
}

PerHead<HeadPlan> Starts::budgets_within(double share) {
  if (budgets_ == nullptr) return {};
  return better_of({budgets_->within(space_, share, true), budgets_->within(space_, share, false)});
}

}  // namespace headgauge
