// A forward pass over the documents of a source; a journal may already have some of its parts.
#pragma once

#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/journal.hpp"

namespace headgauge {

// Runs each document layer by layer, only as far as requested.
class ForwardPass {
 public:
  // `first`: the first layer of the source. `states`: the journal that keeps and finds states of
  // documents in the present stage.
  ForwardPass(HeadSource& source, int first, Journal& states = no_journal())
      : source_(source), states_(states), next_(source.info().documents.size(), first) {}
  // Returns the heads of a layer of a document, and runs the layers before it first if necessary.
  std::span<const HeadInput> layer(int layer, Index document) {
    reach(layer, document);
    ++next_[static_cast<std::size_t>(document)];
    return source_.layer(layer, static_cast<int>(document));
  }
  // Does the same for a caller that scores the heads: HeadSource::begin_layer().
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
  // Keeps the document's state after its measured layers, so that the rest may begin here.
  void keep_state(Index document) {
    const auto state = source_.state(static_cast<int>(document));
    if (!states_.wants_state(state.size())) return;
    states_.keep_state(next_[static_cast<std::size_t>(document)], document, state);
  }

 private:
  // Returns to a state that was kept between `next` and `layer`.
  void go_back(int layer, Index document, int& next) {
    const int kept = states_.state_layer(document);
    if (kept <= next || kept > layer) return;
    if (!source_.begin_at(kept, static_cast<int>(document))) return;
    states_.read_state(document, source_.state(static_cast<int>(document)));
    next = kept;
  }

  HeadSource& source_;
  Journal& states_;
  std::vector<int> next_;  // next layer to run, by document
};

}  // namespace headgauge
