#include "plan/screening.hpp"

#include <algorithm>
#include <utility>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "measures/output_change.hpp"
#include "plan/joint_change.hpp"
#include "scan/run.hpp"

namespace headgauge {

PerHead<std::vector<double>> output_changes(HeadSource& source, const PlanSpace& space, int threads,
                                            const std::stop_token& stop) {
  TriedInterventions tried;
  tried.dimension = "candidate";
  std::vector<std::string> labels = {"full"};
  std::vector<HeadInterventions> made;
  for (int choice = 1; choice < space.size(); ++choice) {
    labels.push_back(space.choice(choice).text());
    made.push_back(make_interventions(space.plan(space.same(choice)), source.info()));
  }
  for (const HeadInterventions& interventions : made) {
    tried.interventions.push_back(&interventions);
  }
  tried.labels = labels;
  ScanOptions options;
  options.lengths = {static_cast<int>(space.context())};
  options.measures = {"weights"};
  options.threads = threads;
  ResolvedScan plan = resolve_scan(options, source.info());
  plan.options.measures.clear();
  plan.options.own_measures.push_back(
      [&](const MeasureOptions& measure, const SourceInfo&, int slots) {
        return make_output_change(tried, slots, measure.seed);
      });
  source.intervene({});
  const Results found = run_scan(source, plan, {.loss = false}, nullptr, stop);
  if (found.partial) throw Stopped();
  const SourceInfo& info = source.info();
  PerHead<std::vector<double>> changes(info.layers, info.kv_heads);
  const int shared = info.heads / info.kv_heads;
  changes.each([&](int layer, int head, std::vector<double>& of_head) {
    if (!info.has_attention(layer)) return;
    const Index place = info.attention_layers_before(layer);
    of_head.assign(labels.size(), 0.0);
    for (int query_head = head * shared; query_head < (head + 1) * shared; ++query_head) {
      for (Index c = 1; c < std::ssize(labels); ++c) {
        const auto cell = find_cell(found, metric::output_change,
                                    {{"layer", place}, {"head", query_head}, {"candidate", c}});
        double& change = of_head[static_cast<std::size_t>(c)];
        if (cell) change = std::max(change, cell->value);
      }
    }
  });
  return changes;
}

std::vector<std::vector<bool>> least_changed(const PerHead<std::vector<double>>& changes,
                                             int count) {
  struct Place {
    std::size_t head, choice;
    double change;
  };
  std::vector<Place> places;
  std::vector<std::vector<bool>> chosen;
  for (const std::vector<double>& of_head : changes) {
    if (of_head.empty()) continue;  // layer without attention
    for (std::size_t c = 1; c < of_head.size(); ++c) {
      places.push_back({chosen.size(), c, of_head[c]});
    }
    chosen.emplace_back(of_head.size(), false);
  }
  std::ranges::stable_sort(places, {}, &Place::change);
  const auto some = std::min(places.size(), static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < some; ++i) chosen[places[i].head][places[i].choice] = true;
  return chosen;
}

}  // namespace headgauge
