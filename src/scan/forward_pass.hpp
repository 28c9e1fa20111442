// One forward pass over the documents of a source, of which a journal may have parts already.
#pragma once

#include <span>
#include <vector>

#include "headgauge/heads.hpp"

namespace headgauge {

// Runs each document as far as is asked for, layer by layer, and no further.
class ForwardPass {
 public:
  // `first`: the layer that the source begins at.
  ForwardPass(HeadSource& source, int first)
      : source_(source), next_(source.info().documents.size(), first) {}
  // The heads of a layer of a document; layers before it that were not run are run first.
  std::span<const HeadInput> layer(int layer, Index document) {
    reach(layer, document);
    ++next_[static_cast<std::size_t>(document)];
    return source_.layer(layer, static_cast<int>(document));
  }
  // Runs the layers before `layer`.
  void reach(int layer, Index document) {
    int& next = next_[static_cast<std::size_t>(document)];
    for (; next < layer; ++next) source_.layer(next, static_cast<int>(document));
  }

 private:
  HeadSource& source_;
  std::vector<int> next_;  // layer to be run, of each document
};

}  // namespace headgauge
