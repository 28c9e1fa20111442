// The interface of a model family: the steps of a forward pass. TransformerSource combines them and
// keeps the documents, the interventions and the residual streams.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/model.hpp"
#include "headgauge/parallel.hpp"
#include "model/layers.hpp"

namespace headgauge {

class Transformer {
 public:
  // Takes sizes, layer types and windows from the checkpoint's summary.
  Transformer(Checkpoint checkpoint, const ModelSummary& summary);
  virtual ~Transformer() = default;
  // Returns what the model knows; the source fills in documents, x and bytes.
  const SourceInfo& info() const { return info_; }
  // Returns the checkpoint that the model is read from.
  const Checkpoint& checkpoint() const { return checkpoint_; }
  Index width() const { return width_; }
  // Estimates the memory of a layer's weights and of the scratch of this many threads.
  virtual std::size_t bytes(Index longest, int threads) const = 0;

  // Copies a row of the token embedding table, as stored.
  virtual void embedding(int token, std::span<float> row) const = 0;
  // Turns the token embeddings in residual (L x D) into the input of layer 0.
  virtual void enter(MatrixView<float> residual) = 0;
  // Reads the weights of a layer, unless they are loaded for the same.
  void load(int layer, ThreadPool& pool, Loaded loaded = Loaded::forward);
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

 protected:
  // Reads the weights of a layer, which is all that load() and require_layers() ask for.
  virtual void read(int layer, const WeightReader& reader) = 0;
  // Returns the prefix of a layer's tensors.
  virtual std::string layer_prefix(int layer) const = 0;
  // Returns the name under which the checkpoint has a tensor.
  virtual std::string stored_name(const std::string& name) const { return name; }

  WeightReader reader(std::string prefix) const;
  // Checks the tensors of all layers before work begins.
  void require_layers();

  Checkpoint checkpoint_;
  std::string prefix_;  // of the tensor names
  SourceInfo info_;
  int loaded_ = -1;  // the layer

 private:
  Index width_;
  Loaded loaded_for_ = Loaded::forward;
};

}  // namespace headgauge
