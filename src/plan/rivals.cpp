#include "plan/rivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/random.hpp"

namespace headgauge {
namespace {

// Returns the number of keys at a share of those that a head of the layer sees.
Index keys_of(const PlanSpace& space, int layer, double share) {
  const auto all = static_cast<double>(space.keys(layer, 0));
  return std::min(std::max(static_cast<Index>(std::floor(share * all + 1e-9)), Index{1}),
                  space.keys(layer, 0));
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

}  // namespace headgauge
