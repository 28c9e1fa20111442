// The loss of the next token, computed in chunks of the vocabulary: never L x vocabulary.
#pragma once

#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "headgauge/checkpoint.hpp"

namespace headgauge {

// -log softmax(hidden W^T)[target] in nats for each row of `hidden` (rows x d); `weight` is the
// output embedding W (vocabulary x d), `targets` has one id a row.
std::vector<double> next_token_losses(MatrixView<const float> hidden, const TensorView& weight,
                                      std::span<const int> targets, ThreadPool& pool);

}  // namespace headgauge
