// One forward pass over the documents of a source, of which a journal may have parts already.
#pragma once

#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/journal.hpp"

namespace headgauge {

// Runs each document as far as is asked for, layer by layer, and no further.
class ForwardPass {
 public:
  // `first`: the layer that the source begins at. `states`: of the present stage, where states of
  // documents are kept and found; null: nowhere.
  ForwardPass(HeadSource& source, int first, Journal* states = nullptr)
      : source_(source), states_(states), next_(source.info().documents.size(), first) {}
  // The heads of a layer of a document; layers before it that were not run are run first.
  std::span<const HeadInput> layer(int layer, Index document) {
    reach(layer, document);
    ++next_[static_cast<std::size_t>(document)];
    return source_.layer(layer, static_cast<int>(document));
  }
  // The same for a caller that scores them: HeadSource::begin_layer().
  std::span<const HeadInput> begin_layer(int layer, Index document) {
    reach(layer, document);
    ++next_[static_cast<std::size_t>(document)];
    return source_.begin_layer(layer, static_cast<int>(document));
  }
  void finish_layer() { source_.finish_layer(); }
  // Runs the layers before `layer`.
  void reach(int layer, Index document) {
    int& next = next_[static_cast<std::size_t>(document)];
    if (next < layer) go_back(layer, document, next);
    for (; next < layer; ++next) source_.layer(next, static_cast<int>(document));
  }
  // What was measured of the document's layers so far is kept: the rest may begin here.
  void keep_state(Index document) {
    if (states_ == nullptr) return;
    const auto state = source_.state(static_cast<int>(document));
    if (!states_->wants_state(state.size())) return;
    states_->keep_state(next_[static_cast<std::size_t>(document)], document, state);
  }

 private:
  // To a state that was kept between `next` and `layer`.
  void go_back(int layer, Index document, int& next) {
    const int kept = states_ != nullptr ? states_->state_layer(document) : 0;
    if (kept <= next || kept > layer) return;
    if (!source_.begin_at(kept, static_cast<int>(document))) return;
    states_->read_state(document, source_.state(static_cast<int>(document)));
    next = kept;
  }

  HeadSource& source_;
  Journal* states_;
  std::vector<int> next_;  // layer to be run, of each document
};

}  // namespace headgauge
