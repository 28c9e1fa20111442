#include "plan/joint_loss.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace headgauge {
namespace {

constexpr int kUnsaved = 200;  // losses that a kill can cost

ModelSource& require_model(HeadSource& source) {
  auto* model = dynamic_cast<ModelSource*>(&source);
  if (model == nullptr || !source.info().has_loss) {
    throw UnsupportedError(fault("plan", "a model that predicts the next token",
                                 model == nullptr
                                     ? source.info().name + ", a dump, which has no loss"
                                     : source.info().name + ", which has no loss",
                                 "a plan is judged by the loss"));
  }
  return *model;
}

// The one layer in which two plans differ.
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

JointLoss::JointLoss(HeadSource& source, std::string set, Evaluations& known, std::stop_token stop)
    : model_(require_model(source)), set_(std::move(set)), known_(known), stop_(std::move(stop)) {
  original_ = loss({source.info().layers, source.info().kv_heads});
}

void JointLoss::run_layer(int layer, int document) {
  if (stop_.stop_requested()) {
    known_.save();
    throw Stopped();
  }
  model_.layer(layer, document);
}

void JointLoss::measured(const std::string& key, ByDocument losses) {
  known_.add(key, std::move(losses));
  ++computed_;
  if (++unsaved_ < kUnsaved) return;
  known_.save();
  unsaved_ = 0;
}

ByDocument JointLoss::loss(const PerHead<HeadPlan>& plan) {
  const std::string key = Evaluations::key(set_, plan);
  if (const ByDocument* found = known_.find(key, documents())) return *found;
  model_.intervene(make_interventions(plan, source()));
  for (int layer = 0; layer < source().layers; ++layer) {
    for (int d = 0; d < documents(); ++d) run_layer(layer, d);
  }
  ByDocument losses;
  for (int d = 0; d < documents(); ++d) losses.push_back(mean(model_.token_losses(d)));
  measured(key, losses);
  return losses;
}

ByDocument JointLoss::less_original(ByDocument losses) const {
  for (std::size_t d = 0; d < losses.size(); ++d) losses[d] -= original_[d];
  return losses;
}

ByDocument JointLoss::change(const PerHead<HeadPlan>& plan) {
  return less_original(loss(plan));
}

std::vector<ByDocument> JointLoss::changes_near(const PerHead<HeadPlan>& base,
                                                std::span<const PerHead<HeadPlan>> variants) {
  std::vector<std::string> keys;
  std::vector<std::vector<std::size_t>> of_layer(static_cast<std::size_t>(source().layers));
  int last = -1;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    keys.push_back(Evaluations::key(set_, variants[v]));
    if (known_.find(keys.back(), documents()) != nullptr) continue;
    const int layer = layer_of_difference(base, variants[v]);
    if (layer < 0) {
      loss(base);
      continue;
    }
    of_layer[static_cast<std::size_t>(layer)].push_back(v);
    last = std::max(last, layer);
  }
  if (last >= 0) {
    std::vector<ByDocument> losses(variants.size());
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
          losses[here[i]].push_back(mean(found[i].losses));
        }
      }
    }
    for (const auto& here : of_layer) {
      for (const std::size_t v : here) measured(keys[v], losses[v]);
    }
  }
  std::vector<ByDocument> changes;
  for (const std::string& key : keys)
    changes.push_back(less_original(*known_.find(key, documents())));
  return changes;
}

}  // namespace headgauge
