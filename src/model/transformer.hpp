// The interface of a model family: the steps of a forward pass. TransformerSource combines them and
// keeps the documents, the interventions and the residual streams.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/checkpoint.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/parallel.hpp"
#include "model/layers.hpp"

namespace headgauge {

class Transformer {
 public:
  virtual ~Transformer() = default;
  // Returns sizes, layer types and windows; the source fills in documents, x and bytes.
  virtual const SourceInfo& info() const = 0;
  // Returns the checkpoint that the model is read from.
  virtual const Checkpoint& checkpoint() const = 0;
  virtual Index width() const = 0;
  // Estimates the memory of a layer's weights and of the scratch of this many threads.
  virtual std::size_t bytes(Index longest, int threads) const = 0;

  // Copies a row of the token embedding table, as stored.
  virtual void embedding(int token, std::span<float> row) const = 0;
  // Turns the token embeddings in residual (L x D) into the input of layer 0.
  virtual void enter(MatrixView<float> residual) = 0;
  // Reads the weights of a layer, unless they are loaded for the same.
  virtual void load(int layer, ThreadPool& pool, Loaded loaded = Loaded::forward) = 0;
  // Computes queries, keys and values of the loaded layer, and all of HeadInput except document and
  // x; views stay valid until the next call.
  virtual void project(MatrixView<const float> residual, std::vector<HeadInput>& heads,
                       ThreadPool& pool) = 0;
  // Computes the rest of the loaded layer from attended (L x heads * d), the outputs of its heads.
  virtual void finish(MatrixView<const float> attended, MatrixView<float> residual,
                      ThreadPool& pool) = 0;

  // The steps of the layer in the reverse order, for a layer that is loaded for reverse().
  // reverse_finish() turns the gradient by the layer's output into that by `residual` after the
  // heads were added, and computes the gradient by `attended`. `residual` (L x D) is the input of
  // the layer. reverse_project(), which must follow project(), adds to it what comes through
  // `by_heads`: gradients by rotated queries and keys and by values (L x (heads + 2 kv_heads) d).
  // Only called if SourceInfo::has_loss, as are those below.
  virtual void reverse_finish(MatrixView<const float> residual, MatrixView<const float> attended,
                              MatrixView<float> gradient, MatrixView<float> by_attended,
                              ThreadPool& pool);
  virtual void reverse_project(MatrixView<const float> residual, MatrixView<float> by_heads,
                               MatrixView<float> gradient, ThreadPool& pool);
  // Turns the gradient by the output of leave() into that by `residual`.
  virtual void reverse_leave(MatrixView<const float> residual, MatrixView<float> gradient,
                             ThreadPool& pool);

  // Computes the input of the output embedding, and returns that embedding. Only called if
  // SourceInfo::has_loss, that is, if the model predicts the next token.
  virtual void leave(MatrixView<const float> residual, MatrixView<float> out, ThreadPool& pool);
  virtual const TensorView& output_embedding() const;
  // Returns c > 0 if the logits l of the next token become c tanh(l / c), else 0.
  virtual float logit_cap() const { return 0.0f; }
  // Returns a caveat for numbers from one pass over `length` tokens; empty: none.
  virtual std::string notice(Index length) const {
    static_cast<void>(length);
    return {};
  }
};

}  // namespace headgauge
