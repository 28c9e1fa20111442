// Gradients of losses by activations and gates: a forward pass that keeps the input of each layer,
// then the layers in the reverse order, each computed again from its input.
#pragma once

#include <functional>
#include <vector>

#include "headgauge/model.hpp"
#include "model/mixed_attention.hpp"
#include "model/next_token.hpp"
#include "model/transformer.hpp"

namespace headgauge {

class ReversePass {
 public:
  // A document's input of layer 0, and what belongs to its heads and predictions.
  struct Text {
    Matrix<float> residual;
    std::function<void(HeadInput&)> complete;  // sets HeadInput::document and what else the model
                                               // does not know
    std::function<MatrixView<const float>(MatrixView<const float>)> predicting;
    std::span<const int> targets;
    LossWeights weigh;
  };

  ReversePass(Transformer& model, ThreadPool& pool) : model_(model), pool_(pool) {}
  std::vector<Gradients> run(std::vector<Text> texts, const GatedHeads& heads,
                             const Differentiated& what);

 private:
  struct Choices {
    std::vector<HeadInterventions> of_all_heads;  // by choice: the same in every head
    const PerHead<std::vector<double>>& gates;
  };
  MixedHeads mixed(const Text& text, MatrixView<const float> residual, const Choices& choices,
                   int layer);
  NextTokens reverse_loss(const Text& text, Matrix<float>& gradient);

  Transformer& model_;
  ThreadPool& pool_;
  MixedAttention attention_;
};

}  // namespace headgauge
