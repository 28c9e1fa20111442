#include "plan/rivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.hpp"

namespace headgauge {
namespace {

// The keys of a head at a share of what the layer's heads see.
Index keys_of(const PlanSpace& space, int layer, double share) {
  const auto all = static_cast<double>(space.keys(layer, 0));
  return std::clamp(static_cast<Index>(std::floor(share * all + 1e-9)), Index{1},
                    space.keys(layer, 0));
}

}  // namespace

HeadPlan recent_keys(const PlanSpace& space, int layer, Index keys, bool sinks) {
  if (keys >= space.keys(layer, 0)) return {};
  return {sinks ? sinks_and_window(keys) : fmt::format("window:size={}", keys), ""};
}

PerHead<HeadPlan> equal_windows(const PlanSpace& space, double share, bool sinks) {
  PerHead<HeadPlan> plan(space.layers(), space.heads());
  plan.each([&](int layer, int, HeadPlan& head) {
    head = recent_keys(space, layer, keys_of(space, layer, share), sinks);
  });
  return plan;
}

PerHead<HeadPlan> pyramid(const PlanSpace& space, double share, double slope) {
  PerHead<HeadPlan> plan(space.layers(), space.heads());
  const int last = std::max(1, space.layers() - 1);
  plan.each([&](int layer, int, HeadPlan& head) {
    const double factor = 1 + slope * (1 - 2.0 * layer / last);
    head = recent_keys(space, layer, keys_of(space, layer, share * factor), true);
  });
  return plan;
}

PerHead<HeadPlan> heaviest_keys(const PlanSpace& space, double share) {
  PerHead<HeadPlan> plan(space.layers(), space.heads());
  plan.each([&](int layer, int, HeadPlan& head) {
    const Index keys = keys_of(space, layer, share);
    if (keys < space.keys(layer, 0)) head = {fmt::format("topk:k={}", keys), ""};
  });
  return plan;
}

PerHead<HeadPlan> dealt(const PerHead<HeadPlan>& plan, std::uint64_t seed, std::uint32_t draw) {
  std::vector<HeadPlan> entries(plan.begin(), plan.end());
  const RandomStream random(seed, RandomDomain::dealt_plans, draw, 0);
  for (std::size_t left = entries.size(); left > 1; --left) {
    const double uniform = random.uniforms(static_cast<std::uint32_t>(left))[0];
    const auto place = static_cast<std::size_t>(uniform * static_cast<double>(left));
    std::swap(entries[left - 1], entries[std::min(place, left - 1)]);
  }
  PerHead<HeadPlan> other(plan.layers(), plan.heads());
  auto next = entries.begin();
  other.each([&](int, int, HeadPlan& head) { head = *next++; });
  return other;
}

}  // namespace headgauge
