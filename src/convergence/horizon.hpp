// The horizon of a head (docs/mathematics.md D5.3): how far its logits spread over the tokens,
// which sets the rate at which its output settles.
#pragma once

#include "headgauge/heads.hpp"

namespace headgauge {

// sqrt(lambda_max(Cov(q) Cov(k))) over the rows of both (L x d each, population normalisation): the
// horizon of the paper's code. Times the head's scale it is H_eff. 0 where all queries or all keys
// are the same.
double query_key_spread(MatrixView<const float> queries, MatrixView<const float> keys);

// The rate that paper B predicts (T5.2): beta = 1 / (2 (1 + H^2)).
double predicted_rate(double horizon);

}  // namespace headgauge
