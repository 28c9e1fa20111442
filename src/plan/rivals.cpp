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
  const int last = std::max(1, space.layers() - 1);
  const auto share_of = [&](int layer, double scale) {
    return std::min(1.0, scale * (1 + slope * (1 - 2.0 * layer / last)));
  };
  const auto kept_at = [&](double scale) {
    double kept = 0, all = 0;
    for (int layer = 0; layer < space.layers(); ++layer) {
      const auto keys = static_cast<double>(space.keys(layer, 0));
      kept += share_of(layer, scale) * keys;
      all += keys;
    }
    return kept / all;
  };
  // Bisects for the scale at which the layers together keep the share.
  double low = 0, high = 1 / (1 - std::abs(slope));
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (kept_at(middle) <= share ? low : high) = middle;
  }
  PerHead<HeadPlan> plan(space.layers(), space.heads());
  plan.each([&](int layer, int, HeadPlan& head) {
    head = recent_keys(space, layer, keys_of(space, layer, share_of(layer, low)), true);
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
