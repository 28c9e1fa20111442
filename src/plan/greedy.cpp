#include "plan/greedy.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "measures/output_change.hpp"
#include "plan/joint_change.hpp"
#include "plan/rivals.hpp"
#include "plan/space.hpp"
#include "scan/run.hpp"

namespace headgauge {
namespace {

// Returns the mean relative change of a head's output under each choice, by layer, key-value head
// and choice (the maximum over heads that share keys). This metric predicts the change of the loss
// best (docs/validity.md) and costs one pass over the texts.
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

// Marks the `count` smallest changes, by head (layer by layer) and choice.
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

constexpr int kRounds = 2;  // rounds of exchange()

}  // namespace

const SearchPoint* best_within(const std::vector<SearchPoint>& points, double share) {
  const SearchPoint* best = nullptr;
  for (const SearchPoint& point : points) {
    if (point.share > share + 1e-12) continue;
    if (best == nullptr || point.change < best->change) best = &point;
  }
  return best;
}

GreedyFinder::GreedyFinder(const PlanSpace& space, JointChange& loss, HeadSource& texts,
                           const PlanOptions& options, Parts& progress, std::stop_token stop)
    : space_(space),
      loss_(loss),
      texts_(texts),
      options_(options),
      progress_(progress),
      stop_(std::move(stop)),
      search_(space, loss, [this](const SearchPoint& at) { progress_.step(at.share); }) {}

void GreedyFinder::screen() {
  progress_.begin("screen", 0, 0.25, space_.layers());
  const auto groups = space_.single_heads();
  PerHead<std::vector<double>> outputs;
  std::vector<std::vector<bool>> wanted;
  if (options_.screen > 0) {
    outputs = output_changes(texts_, space_, options_.threads, stop_);
    wanted = least_changed(outputs, options_.screen);
  }
  const auto found = search_.alone(groups, wanted);
  screening_.changes = {space_.layers(), space_.heads()};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<double>& effects = effects_.emplace_back(1, 0.0);
    auto& changes = screening_.changes(groups[g].layer, groups[g].heads.front());
    for (int choice = 1; choice < space_.size(); ++choice) {
      const Judged& one = found[g][static_cast<std::size_t>(choice)];
      effects.push_back(one.text.empty() ? kUndefined : loss_.cost(one));
      changes.push_back(one.text);
    }
  }
  if (!outputs.empty()) expect_by_output(groups, outputs);
}

// Estimates the effect of unmeasured choices: proportional to the change of the output, with the
// mean ratio of the measured ones. The estimates hold until the move is measured.
void GreedyFinder::expect_by_output(const std::vector<HeadGroup>& groups,
                                    const PerHead<std::vector<double>>& outputs) {
  double loss = 0, output = 0;
  const auto of_head = [&](std::size_t g) {
    return std::span(outputs(groups[g].layer, groups[g].heads.front()));
  };
  for (std::size_t g = 0; g < effects_.size(); ++g) {
    for (std::size_t c = 1; c < effects_[g].size(); ++c) {
      if (std::isnan(effects_[g][c])) continue;
      loss += std::abs(effects_[g][c]);
      output += of_head(g)[c];
    }
  }
  for (std::size_t g = 0; g < effects_.size(); ++g) {
    for (std::size_t c = 1; c < effects_[g].size(); ++c) {
      if (!std::isnan(effects_[g][c])) continue;
      effects_[g][c] = output > 0 ? of_head(g)[c] * loss / output : 0;
    }
  }
}

Effects GreedyFinder::layer_effects() {
  const auto layers = space_.whole_layers();
  Effects effects;
  for (const auto& found : search_.alone(layers, {})) {
    std::vector<double>& of_layer = effects.emplace_back(1, 0.0);
    for (int choice = 1; choice < space_.size(); ++choice) {
      of_layer.push_back(loss_.cost(found[static_cast<std::size_t>(choice)]));
    }
  }
  return effects;
}

// Walks from full attention down to the share `least`, by head and by whole layers, and from the
// smallest choices up to `most`.
void GreedyFinder::prepare(double least, double most) {
  screen();
  const auto fewer = [=](double share) { return (1 - share) / (1 - least); };
  progress_.begin("search: fewer keys", 0.25, 0.45, fewer);
  shrunk_ = search_.shrink(space_.same(0), space_.single_heads(), effects_, least);
  progress_.begin("search: more keys", 0.45, 0.55, [=](double share) { return share / most; });
  grown_ = search_.grow(space_.smallest(), space_.single_heads(), effects_, most);
  progress_.begin("search: layers", 0.55, 0.6, fewer);
  by_layer_ = search_.shrink(space_.same(0), space_.whole_layers(), layer_effects(), least);
}

std::vector<SearchPoint> GreedyFinder::all() const {
  std::vector<SearchPoint> all = shrunk_;
  all.insert(all.end(), grown_.begin(), grown_.end());
  all.insert(all.end(), by_layer_.begin(), by_layer_.end());
  return all;
}

// Returns the starts, the points of the walks, and the result of exchanges from the best of them.
std::vector<FoundPlan> GreedyFinder::within(double share) {
  std::vector<std::pair<SearchPoint, std::string>> points;
  if (const auto equal = equal_choices(space_, share)) {
    points.emplace_back(search_.point(*equal), "equal windows");
  }
  for (const auto& [path, start] : {std::pair{&by_layer_, "layers"},
                                    {&shrunk_, "full attention"},
                                    {&grown_, "the smallest windows"}}) {
    if (const SearchPoint* best = best_within(*path, share)) points.emplace_back(*best, start);
  }
  if (!points.empty()) {
    const auto best =
        std::ranges::min_element(points, {}, [](const auto& point) { return point.first.change; });
    points.emplace_back(search_.exchange(best->first, space_.single_heads(), share, kRounds),
                        best->second + ", then exchanges");
  }
  std::vector<FoundPlan> found;
  for (const auto& [point, start] : points) found.push_back({space_.plan(point.choices), start});
  return found;
}

}  // namespace headgauge
