// Tests whether changes of heads in the first half of a text predict a rise of the loss in the
// second half.
#pragma once

#include <stop_token>

#include "headgauge/reproduce.hpp"

namespace headgauge {

// The minimum number of pieces, and the minimum number of tokens per piece.
inline constexpr int kFewestPieces = 16;
inline constexpr int kShortestPiece = 128;

// Measures entropy_fall, separability_fall, loss_first_half and loss_second_half of each piece of
// the text and adds them to `results`, over the coordinate `piece`. A piece has 1024 tokens, or as
// many as allow 32 pieces. Adds nothing if there are too few pieces, if the model has no loss, or
// if `stop` is requested.
void measure_early_warning(const CutText& cut, const LimitsOptions& options,
                           const SourceInfo& model, Results& results, Progress* progress,
                           const std::stop_token& stop);

}  // namespace headgauge
