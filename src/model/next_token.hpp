// The next token, computed in chunks of the vocabulary: never L x vocabulary.
#pragma once

#include <span>
#include <vector>

#include "headgauge/checkpoint.hpp"
#include "headgauge/model.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

// What each of `hidden` (L x d, one a model) says of the next token: losses
// -log softmax(hidden W^T)[target] of the rows that have a target, `weight` being the output
// embedding W (vocabulary x d), whose logits l become cap tanh(l / cap) where cap > 0, to 1e-6;
// and, where `reference` (L x d) is not empty, the divergence KL(softmax(reference W^T) ||
// softmax(hidden W^T)) of every row, to about 3e-6 nats, exactly 0 where the two are equal.
std::vector<NextTokens> compare_next_tokens(MatrixView<const float> reference,
                                            std::span<const MatrixView<const float>> hidden,
                                            const TensorView& weight, std::span<const int> targets,
                                            float cap, ThreadPool& pool);

// Says, of a model without a next token, how far each row of the last hidden states is from the
// reference's, as a share of its length.
NextTokens changed_output(MatrixView<const float> reference, MatrixView<const float> hidden);

}  // namespace headgauge
