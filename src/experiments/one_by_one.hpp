// Interventions in one head or layer at a time, and the resulting predictions.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "experiments/next_token_metrics.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/model.hpp"
#include "scan/forward_pass.hpp"

namespace headgauge {

// One variant: an intervention in some heads of a layer.
struct Variant {
  int head = -1;  // -1: the layer
  std::size_t intervention = 0;
  LayerInterventions heads = {};
  Predictions predictions = {};  // by document
};

class OneByOne {
 public:
  // `tried`: the indices of the interventions. The model must be unchanged and have a reference.
  OneByOne(ModelSource& model, std::span<const Intervention> interventions,
           std::span<const std::size_t> tried, Each each, Journal* journal);

  // Returns the variants of each layer; none for layers that a stop left undone. `is_needed`:
  // whether a document is needed for other parts.
  std::vector<std::vector<Variant>> run(const std::function<bool(Index)>& is_needed,
                                        Progress& progress, const std::stop_token& stop);

 private:
  std::vector<Variant> variants_of(int layer) const;
  bool find(int layer, int document, std::size_t intervention,
            std::span<Variant* const> variants) const;
  void compute(int layer, int document, std::span<Variant* const> variants);
  std::string stage(std::size_t intervention) const;

  ModelSource& model_;
  std::span<const Intervention> interventions_;
  std::span<const std::size_t> tried_;
  Each each_;
  Journal* journal_;
  ForwardPass pass_;
};

}  // namespace headgauge
