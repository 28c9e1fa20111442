// Finds the tokens whose loss a change of the model alters most.
#pragma once

#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Returns the `most` tokens with the largest absolute change of the loss under each of the
// predictions after the first, which are the model's own, in the order of the documents; a token
// that several changes choose stands there once. All predicted tokens of a text and the answers of
// cases take part. Among equal changes the first token wins.
std::vector<TokenLoss> find_token_losses(const SourceInfo& source,
                                         std::span<const Predictions> predictions, Index most);

}  // namespace headgauge
