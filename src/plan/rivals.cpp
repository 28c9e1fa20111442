#include "plan/rivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random.hpp"
#include "headgauge/cells.hpp"
#include "plan/joint_loss.hpp"

namespace headgauge {
namespace {

// The keys of a head at a share of what the layer's heads see.
Index keys_of(const PlanSpace& space, int layer, double share) {
  const auto all = static_cast<double>(space.keys(layer, 0));
  return std::clamp(static_cast<Index>(std::floor(share * all + 1e-9)), Index{1},
                    space.keys(layer, 0));
}

HeadPlan window(const PlanSpace& space, int layer, Index keys, bool sinks) {
  if (keys >= space.keys(layer, 0)) return {};
  return {sinks ? sinks_and_window(keys) : fmt::format("window:size={}", keys), ""};
}

}  // namespace

PerHead<HeadPlan> equal_windows(const PlanSpace& space, double share, bool sinks) {
  PerHead<HeadPlan> plan(space.layers(), space.heads());
  plan.each([&](int layer, int, HeadPlan& head) {
    head = window(space, layer, keys_of(space, layer, share), sinks);
  });
  return plan;
}

PerHead<HeadPlan> pyramid(const PlanSpace& space, double share, double slope) {
  PerHead<HeadPlan> plan(space.layers(), space.heads());
  const int last = std::max(1, space.layers() - 1);
  plan.each([&](int layer, int, HeadPlan& head) {
    const double factor = 1 + slope * (1 - 2.0 * layer / last);
    head = window(space, layer, keys_of(space, layer, share * factor), true);
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

ConvergeBudgets::ConvergeBudgets(HeadSource& source, Index context, std::uint64_t seed, int threads,
                                 Progress* progress, std::stop_token stop) {
  source.intervene({});
  ConvergeOptions options;
  options.scan.measures = {"weights"};
  options.scan.lengths = {static_cast<int>(context)};
  options.scan.seed = seed;
  options.scan.threads = threads;
  options.replicates = 2;
  options.draws = 1;
  options.points = 2;
  options.tolerances.clear();
  for (int i = 0; i < 40; ++i) options.tolerances.push_back(0.01 * std::pow(1.125, i));
  std::erase_if(options.tolerances, [](double tolerance) { return tolerance >= 1; });
  const Results found = converge(source, options, progress, stop);
  if (found.partial) throw Stopped();
  const auto recent = found.require_coord("sampler").find("recent");
  if (!recent) return;
  const int shared = source.info().heads / source.info().kv_heads;
  const Index tolerances = found.coord_size("tolerance");
  for (Index t = 0; t < tolerances; ++t) {
    PerHead<Index> keys(source.info().layers, source.info().kv_heads, context);
    keys.each([&](int layer, int head, Index& here) {
      Index most = 0;
      for (int query_head = head * shared; query_head < (head + 1) * shared; ++query_head) {
        const auto cell = find_cell(
            found, "tokens_for_error",
            {{"layer", layer}, {"head", query_head}, {"tolerance", t}, {"sampler", *recent}});
        most = std::max(most, cell && cell->value > 0 ? static_cast<Index>(cell->value) : context);
      }
      here = std::min(most, context);
    });
    keys_.push_back(std::move(keys));
  }
}

PerHead<HeadPlan> ConvergeBudgets::plan(const PlanSpace& space, double share) const {
  for (const PerHead<Index>& keys : keys_) {
    PerHead<HeadPlan> plan(space.layers(), space.heads());
    plan.each([&](int layer, int head, HeadPlan& here) {
      here = window(space, layer, keys(layer, head), false);
    });
    if (cache_share(plan, space.source(), space.context()) <= share + 1e-12) return plan;
  }
  return {};
}

}  // namespace headgauge
