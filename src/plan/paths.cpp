#include "plan/paths.hpp"

#include <algorithm>

#include "plan/rivals.hpp"

namespace headgauge {
namespace {

constexpr int kRounds = 2;  // rounds of exchange()
constexpr double kSlopes[] = {-0.9, -0.6, -0.3, 0.3, 0.6, 0.9};

}  // namespace

const SearchPoint* best_within(const std::vector<SearchPoint>& points, double share) {
  const SearchPoint* best = nullptr;
  for (const SearchPoint& point : points) {
    if (point.share > share + 1e-12) continue;
    if (best == nullptr || point.change < best->change) best = &point;
  }
  return best;
}

void Paths::shrink(const Effects& effects, double least) {
  shrunk_ = search_.shrink(space_.same(0), space_.single_heads(), effects, least);
}

void Paths::grow(const Effects& effects, double most) {
  grown_ = search_.grow(space_.smallest(), space_.single_heads(), effects, most);
}

void Paths::shrink_layers(double least) {
  by_layer_ = search_.shrink(space_.same(0), space_.whole_layers(), layer_effects(), least);
}

Effects Paths::layer_effects() {
  const auto layers = space_.whole_layers();
  Effects effects;
  for (const auto& found : search_.alone(layers, {})) {
    std::vector<double>& of_layer = effects.emplace_back(1, 0.0);
    for (int choice = 1; choice < space_.size(); ++choice) {
      of_layer.push_back(mean(found[static_cast<std::size_t>(choice)]));
    }
  }
  return effects;
}

std::vector<SearchPoint> Paths::all() const {
  std::vector<SearchPoint> all = shrunk_;
  all.insert(all.end(), grown_.begin(), grown_.end());
  all.insert(all.end(), by_layer_.begin(), by_layer_.end());
  return all;
}

// Returns the largest pattern that every head can have within the share.
std::optional<int> Paths::equal_choice(double share) const {
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
std::optional<Choices> Paths::rounded(const PerHead<HeadPlan>& budgets) const {
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

std::vector<FoundPlan> Paths::rivals_within(double share) {
  std::vector<FoundPlan> found = {{equal_windows(space_, share, false), "equal windows"},
                                  {equal_windows(space_, share, true), "equal windows, sinks"},
                                  {best_pyramid(share), "pyramid"}};
  if (auto budgets = budgets_within(share); !budgets.empty()) {
    found.push_back({std::move(budgets), "converge budgets"});
  }
  return found;
}

std::vector<FoundPlan> Paths::found_within(double share) {
  std::vector<std::pair<SearchPoint, std::string>> points;
  if (const auto equal = equal_choice(share)) {
    points.emplace_back(search_.point(space_.same(*equal)),
                        space_.choice(*equal).text() + " everywhere");
  }
  for (const auto& [path, start] : {std::pair{&by_layer_, "layers"},
                                    {&shrunk_, "full attention"},
                                    {&grown_, "the smallest windows"}}) {
    if (const SearchPoint* best = best_within(*path, share)) points.emplace_back(*best, start);
  }
  std::vector<FoundPlan> found = rivals_within(share);
  if (const auto budgets = budgets_within(share); !budgets.empty()) {
    if (const auto start = rounded(budgets)) {
      points.emplace_back(search_.point(*start), "converge budgets");
    }
  }
  if (!points.empty()) {
    const auto best =
        std::ranges::min_element(points, {}, [](const auto& point) { return point.first.change; });
    points.emplace_back(search_.exchange(best->first, space_.single_heads(), share, kRounds),
                        best->second + ", then exchanges");
  }
  for (const auto& [point, start] : points) found.push_back({space_.plan(point.choices), start});
  return found;
}

void Paths::lower_layers() {
  const auto lower = search_.lower(space_.same(0), space_.whole_layers(), layer_effects());
  by_layer_.insert(by_layer_.end(), lower.begin(), lower.end());
}

std::vector<FoundPlan> Paths::lowest(const Effects& effects) {
  std::vector<FoundPlan> found = found_within(1);
  const auto lower = [&](const SearchPoint& from, const std::string& start) {
    for (const SearchPoint& point : search_.lower(from.choices, space_.single_heads(), effects)) {
      found.push_back({space_.plan(point.choices), start});
    }
  };
  const std::vector<SearchPoint> walked = all();
  lower(search_.point(space_.same(0)), "full attention, then lower");
  if (const SearchPoint* best = best_within(walked, 1)) lower(*best, "a path, then lower");
  return found;
}

// Returns the non-empty plan with the lowest loss on the search texts.
PerHead<HeadPlan> Paths::better_of(std::vector<PerHead<HeadPlan>> plans) {
  PerHead<HeadPlan> best;
  double least = kUndefined;
  for (PerHead<HeadPlan>& plan : plans) {
    if (plan.empty()) continue;
    const double change = mean(loss_.change(plan));
    if (!best.empty() && !(change < least)) continue;
    best = std::move(plan);
    least = change;
  }
  return best;
}

PerHead<HeadPlan> Paths::best_pyramid(double share) {
  std::vector<PerHead<HeadPlan>> plans;
  for (const double slope : kSlopes) plans.push_back(pyramid(space_, share, slope));
  return better_of(std::move(plans));
}

PerHead<HeadPlan> Paths::budgets_within(double share) {
  if (budgets_ == nullptr) return {};
  return better_of({budgets_->within(space_, share, true), budgets_->within(space_, share, false)});
}

}  // namespace headgauge
