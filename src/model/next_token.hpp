// Next-token losses and divergences, computed in chunks of the vocabulary, never as L x vocabulary.
#pragma once

#include <functional>
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

// Returns the weight of each loss.
using LossWeights = std::function<std::vector<double>(const NextTokens&)>;
// Does the same for one model without a reference, then computes the gradient of the sum of weight
// times loss by each row of `hidden`.
NextTokens reverse_next_tokens(MatrixView<const float> hidden, const TensorView& weight,
                               std::span<const int> targets, float cap, const LossWeights& weigh,
                               MatrixView<float> by_hidden, ThreadPool& pool);

// Returns the distance of each row of the last hidden states from the reference's, relative to the
// norm of the reference's, for a model without next-token predictions.
NextTokens changed_output(MatrixView<const float> reference, MatrixView<const float> hidden);

}  // namespace headgauge
