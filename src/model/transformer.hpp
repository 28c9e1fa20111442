// What a family of models is made of: the steps of a forward pass. TransformerSource puts them
// together; it keeps the documents, the interventions and the residual streams.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/checkpoint.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

class Transformer {
 public:
  virtual ~Transformer() = default;
  // Sizes, layer types and windows; documents, x and bytes are filled in by the source.
  virtual const SourceInfo& info() const = 0;
  // The files that it is read from.
  virtual const Checkpoint& checkpoint() const = 0;
  virtual Index width() const = 0;
  // Memory of the weights of a layer and of the scratch of this many threads, estimated.
  virtual std::size_t bytes(Index longest, int threads) const = 0;

  // The row of the token embedding table, as stored.
  virtual void embedding(int token, std::span<float> row) const = 0;
  // residual (L x D), which holds the embeddings of the tokens, becomes what enters layer 0.
  virtual void enter(MatrixView<float> residual) = 0;
  // Reads the weights of a layer, unless they are there.
  virtual void load(int layer, ThreadPool& pool) = 0;
  // Queries, keys and values of the loaded layer, and all else of a HeadInput but document and x;
  // views stay valid until the next call.
  virtual void project(MatrixView<const float> residual, std::vector<HeadInput>& heads,
                       ThreadPool& pool) = 0;
  // The rest of the loaded layer: attended (L x heads * d) is what its heads put out.
  virtual void finish(MatrixView<const float> attended, MatrixView<float> residual,
                      ThreadPool& pool) = 0;

  // What meets the output embedding; asked for where SourceInfo::has_loss says that the model
  // predicts the next token.
  virtual void leave(MatrixView<const float> residual, MatrixView<float> out, ThreadPool& pool);
  virtual const TensorView& output_embedding() const;
  // c > 0: the logits l of the next token become c tanh(l / c).
  virtual float logit_cap() const { return 0.0f; }
  // What a reader must know of numbers that come from one pass over `length` tokens; empty:
  // nothing.
  virtual std::string notice(Index length) const {
    static_cast<void>(length);
    return {};
  }
};

}  // namespace headgauge
