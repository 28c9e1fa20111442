// Next-token losses and divergences, computed in chunks of the vocabulary, never as L x vocabulary.
#pragma once

#include <span>
#include <vector>

#include "headgauge/checkpoint.hpp"
#include "headgauge/model.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

// Computes the next-token predictions of each of `hidden` (L x d, one per model). Losses are -log
// softmax(hidden W^T)[target] for the rows that have a target, accurate to 1e-6; `weight` is the
// output embedding W (vocabulary x d), and logits l become cap tanh(l / cap) if cap > 0. If
// `reference` (L x d) is not empty, also computes the divergence KL(softmax(reference W^T) ||
// softmax(hidden W^T)) of every row, to about 3e-6 nats, exactly 0 if the two are equal.
std::vector<NextTokens> compare_next_tokens(MatrixView<const float> reference,
                                            std::span<const MatrixView<const float>> hidden,
                                            const TensorView& weight, std::span<const int> targets,
                                            float cap, ThreadPool& pool);

// Does the same for one model, then computes the gradient by each row of `hidden` of the sum over
// tokens of weight times loss and of weight times divergence; `weigh` gives the weights.
NextTokens reverse_next_tokens(MatrixView<const float> reference, MatrixView<const float> hidden,
                               const TensorView& weight, std::span<const int> targets, float cap,
                               const LossWeights& weigh, MatrixView<float> by_hidden,
                               ThreadPool& pool);

// Returns the distance of each row of the last hidden states from the reference's, relative to the
// norm of the reference's, for a model without next-token predictions.
NextTokens changed_output(MatrixView<const float> reference, MatrixView<const float> hidden);

}  // namespace headgauge
