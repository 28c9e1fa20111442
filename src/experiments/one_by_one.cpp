#include "experiments/one_by_one.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "scan/recorded.hpp"

namespace headgauge {

OneByOne::OneByOne(ModelSource& model, std::span<const Intervention> interventions,
                   std::span<const std::size_t> tried, Each each, Journal& journal)
    : model_(model),
      interventions_(interventions),
      tried_(tried),
      each_(each),
      journal_(journal),
      pass_(model, 0) {}

std::vector<std::vector<Variant>> OneByOne::run(const std::function<bool(Index)>& is_needed,
                                                Progress& progress, const std::stop_token& stop) {
  const int layers = model_.info().layers;
  const int documents = static_cast<int>(model_.info().documents.size());
  std::vector<std::vector<Variant>> by_layer(static_cast<std::size_t>(layers));
  for (int layer = 0; layer < layers; ++layer) {
    progress.update("layer " + std::to_string(layer), layer, layers);
    std::vector<Variant> variants = variants_of(layer);
    for (int document = 0; document < documents; ++document) {
      if (stop.stop_requested()) return by_layer;
      if (model_.info().is_control(document)) {  // no variant says what the model itself does
        for (Variant& variant : variants) variant.predictions.emplace_back();
        continue;
      }
      std::vector<Variant*> missing;
      for (const std::size_t k : tried_) {
        std::vector<Variant*> of_intervention;
        for (Variant& variant : variants) {
          if (variant.intervention == k) of_intervention.push_back(&variant);
        }
        if (!find(layer, document, k, of_intervention)) {
          std::ranges::copy(of_intervention, std::back_inserter(missing));
        }
      }
      if (missing.empty() && !is_needed(document)) continue;
      pass_.layer(layer, document);
      if (!missing.empty()) compute(layer, document, missing);
    }
    by_layer[static_cast<std::size_t>(layer)] = std::move(variants);
  }
  progress.update("done", layers, layers);
  return by_layer;
}

std::vector<Variant> OneByOne::variants_of(int layer) const {
  const int heads = model_.info().heads;
  std::vector<Variant> variants;
  const auto add = [&](std::size_t intervention, int head) {
    LayerInterventions some(heads);
    bool any = false;
    for (int h = 0; h < heads; ++h) {
      const HeadIntervention& of_head = interventions_[intervention].heads(layer, h);
      if (!of_head.changes() || (head >= 0 && h != head)) continue;
      some[h] = of_head;
      any = true;
    }
    if (any) variants.push_back({head, intervention, std::move(some)});
  };
  for (const std::size_t k : tried_) {
    if (each_ == Each::layer) add(k, -1);
    for (int h = 0; each_ == Each::head && h < heads; ++h) add(k, h);
  }
  return variants;
}

// Takes the variants of one intervention from a journal; returns false if they must be computed.
bool OneByOne::find(int layer, int document, std::size_t intervention,
                    std::span<Variant* const> variants) const {
  if (variants.empty()) return true;
  const Journal::Stage in(journal_, stage(intervention));
  const auto found = journal_.find(layer, document);
  if (!found && journal_.computes(document)) return false;
  std::vector<NextTokens> next =
      found ? read_next_tokens(*found, variants.size(), model_.info(), document)
            : std::vector<NextTokens>(variants.size());
  for (std::size_t v = 0; v < variants.size(); ++v) {
    variants[v]->predictions.push_back(std::move(next[v]));
  }
  return true;
}

// Variants are ordered by intervention.
void OneByOne::compute(int layer, int document, std::span<Variant* const> variants) {
  std::vector<LayerInterventions> interventions;
  for (const Variant* variant : variants) interventions.push_back(variant->heads);
  const auto found = model_.try_interventions(layer, document, interventions);
  for (std::size_t v = 0; v < variants.size(); ++v) variants[v]->predictions.push_back(found[v]);
  if (!journal_.keeps()) return;
  for (std::size_t v = 0, end = 0; v < variants.size(); v = end) {
    const std::size_t k = variants[v]->intervention;
    while (end < variants.size() && variants[end]->intervention == k) ++end;
    const Journal::Stage in(journal_, stage(k));
    journal_.keep(layer, document, write_next_tokens(std::span(found).subspan(v, end - v)));
  }
}

std::string OneByOne::stage(std::size_t intervention) const {
  return fmt::format("tried {} {}", intervention, interventions_[intervention].label);
}

}  // namespace headgauge
