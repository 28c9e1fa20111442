// The horizon of a head (docs/mathematics.md D5.3): the spread of its logits over the tokens, which
// determines the rate at which its output converges.
#pragma once

#include "headgauge/heads.hpp"

namespace headgauge {

// Returns sqrt(lambda_max(Cov(q) Cov(k))) over the rows of both (L x d each, population
// normalisation): the horizon of the paper's code. Multiplied by the head's scale it is H_eff. 0 if
// all queries or all keys are equal.
double query_key_spread(MatrixView<const float> queries, MatrixView<const float> keys);

// Returns the rate that paper B predicts (T5.2): beta = 1 / (2 (1 + H^2)).
double predicted_rate(double horizon);

}  // namespace headgauge
