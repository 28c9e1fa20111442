#include "plan/converge_budgets.hpp"

#include <algorithm>
#include <utility>

#include "convergence/budget.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "plan/joint_change.hpp"
#include "plan/rivals.hpp"

namespace headgauge {
namespace {

// Returns tolerances in the smallest steps at which budgets differ noticeably.
std::vector<double> budget_tolerances() {
  std::vector<double> tolerances;
  for (double tolerance = 0.01; tolerance < 1; tolerance *= 1.125) tolerances.push_back(tolerance);
  return tolerances;
}

}  // namespace

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
  options.tolerances = budget_tolerances();
  const Results found = converge(source, options, progress, std::move(stop));
  if (found.partial) throw Stopped();
  const auto recent = static_cast<Index>(Sampler::recent);
  const int shared = source.info().heads / source.info().kv_heads;
  for (const double tolerance : found.coord_numbers("tolerance")) {
    const auto t = std::ssize(tolerances_);
    tolerances_.push_back(tolerance);
    PerHead<Index> keys(source.info().layers, source.info().kv_heads, context);
    keys.each([&](int layer, int head, Index& here) {
      if (!source.info().has_attention(layer)) return;
      const Index place = source.info().attention_layers_before(layer);
      Index most = 0;
      for (int query_head = head * shared; query_head < (head + 1) * shared; ++query_head) {
        const auto cell = find_cell(
            found, metric::tokens_for_error,
            {{"layer", place}, {"head", query_head}, {"tolerance", t}, {"sampler", recent}});
        most = std::max(most, cell && cell->value > 0 ? static_cast<Index>(cell->value) : context);
      }
      here = std::min(most, context);
    });
    keys_.push_back(std::move(keys));
  }
}

PerHead<HeadPlan> ConvergeBudgets::at(const PlanSpace& space, std::size_t t, bool sinks) const {
  PerHead<HeadPlan> plan(space.layers(), space.heads());
  plan.each([&](int layer, int head, HeadPlan& here) {
    here = recent_keys(space, layer, keys_[t](layer, head), sinks);
  });
  return plan;
}

PerHead<HeadPlan> ConvergeBudgets::within(const PlanSpace& space, double share, bool sinks) const {
  for (std::size_t t = 0; t < keys_.size(); ++t) {
    PerHead<HeadPlan> plan = at(space, t, sinks);
    if (cache_share(plan, space.source(), space.context()) <= share + 1e-12) return plan;
  }
  return {};
}

}  // namespace headgauge
