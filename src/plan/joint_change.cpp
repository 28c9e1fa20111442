#include "plan/joint_change.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace headgauge {
namespace {

ModelSource& require_model(HeadSource& source) {
  if (auto* model = dynamic_cast<ModelSource*>(&source)) return *model;
  throw UnsupportedError(fault("plan", "a model that can run under a plan",
                               source.info().name + ", a dump, which cannot",
                               "give the checkpoint that it was made from"));
}

// Returns the only layer in which two plans differ.
int layer_of_difference(const PerHead<HeadPlan>& a, const PerHead<HeadPlan>& b) {
  int found = -1;
  a.each([&](int layer, int head, const HeadPlan& of_head) {
    if (of_head == b(layer, head)) return;
    assert(found < 0 || found == layer);
    found = layer;
  });
  return found;
}

}  // namespace

double mean(const ByDocument& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

JointChange::JointChange(HeadSource& source, std::string set, Evaluations& known,
                         std::stop_token stop)
    : model_(require_model(source)), set_(std::move(set)), known_(known), stop_(std::move(stop)) {
  original_ = by_loss() ? level({source.info().layers, source.info().kv_heads})
                        : ByDocument(static_cast<std::size_t>(documents()), 0.0);
}

void JointChange::run_layer(int layer, int document) {
  if (stop_.stop_requested()) throw Stopped();
  model_.layer(layer, document);
}

void JointChange::run(const PerHead<HeadPlan>& plan) {
  model_.intervene(make_interventions(plan, source()));
  for (int layer = 0; layer < source().layers; ++layer) {
    for (int d = 0; d < documents(); ++d) run_layer(layer, d);
  }
}

// Sets the reference for outputs if it is missing: another scan of the source removes it.
void JointChange::set_reference() {
  if (by_loss() || model_.has_reference()) return;
  run({source().layers, source().kv_heads});
  model_.set_reference();
}

double JointChange::level_of(const NextTokens& next) const {
  return mean(by_loss() ? next.losses : next.output_change);
}

void JointChange::measured(const std::string& key, ByDocument levels) {
  known_.add(key, std::move(levels));
  ++computed_;
}

ByDocument JointChange::level(const PerHead<HeadPlan>& plan) {
  const std::string key = Evaluations::key(set_, plan);
  if (const ByDocument* found = known_.find(key, documents())) return *found;
  set_reference();
  run(plan);
  ByDocument levels;
  for (int d = 0; d < documents(); ++d) {
    levels.push_back(level_of(model_.next_tokens(d)));
  }
  measured(key, levels);
  return levels;
}

ByDocument JointChange::less_original(ByDocument levels) const {
  for (std::size_t d = 0; d < levels.size(); ++d) levels[d] -= original_[d];
  return levels;
}

ByDocument JointChange::change(const PerHead<HeadPlan>& plan) {
  return less_original(level(plan));
}

std::vector<ByDocument> JointChange::changes_near(const PerHead<HeadPlan>& base,
                                                  std::span<const PerHead<HeadPlan>> variants) {
  std::vector<std::string> keys;
  std::vector<std::vector<std::size_t>> of_layer(static_cast<std::size_t>(source().layers));
  int last = -1;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    keys.push_back(Evaluations::key(set_, variants[v]));
    if (known_.find(keys.back(), documents()) != nullptr) continue;
    const int layer = layer_of_difference(base, variants[v]);
    if (layer < 0) {
      level(base);
      continue;
    }
    of_layer[static_cast<std::size_t>(layer)].push_back(v);
    last = std::max(last, layer);
  }
  if (last >= 0) {
    std::vector<ByDocument> levels(variants.size());
    set_reference();
    model_.intervene(make_interventions(base, source()));
    for (int layer = 0; layer <= last; ++layer) {
      const auto& here = of_layer[static_cast<std::size_t>(layer)];
      std::vector<LayerInterventions> tried;
      for (const std::size_t v : here) {
        const HeadInterventions all = make_interventions(variants[v], source());
        LayerInterventions& of_variant = tried.emplace_back();
        for (int head = 0; head < source().heads; ++head) of_variant.push_back(all(layer, head));
      }
      for (int d = 0; d < documents(); ++d) {
        run_layer(layer, d);
        if (here.empty()) continue;
        const auto found = model_.try_interventions(layer, d, tried);
        for (std::size_t i = 0; i < here.size(); ++i) {
          levels[here[i]].push_back(level_of(found[i]));
        }
      }
    }
    for (const auto& here : of_layer) {
      for (const std::size_t v : here) measured(keys[v], levels[v]);
    }
  }
  std::vector<ByDocument> changes;
  for (const std::string& key : keys)
    changes.push_back(less_original(*known_.find(key, documents())));
  return changes;
}

}  // namespace headgauge
