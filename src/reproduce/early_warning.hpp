// Whether heads that change within the first half of a text warn of a loss that rises in the
// second.
#pragma once

#include <stop_token>

#include "headgauge/reproduce.hpp"

namespace headgauge {

// The fewest pieces that say anything, and the fewest tokens of one.
inline constexpr int kFewestPieces = 16;
inline constexpr int kShortestPiece = 128;

// Measures entropy_fall, separability_fall, loss_first_half and loss_second_half of each piece of
// the text and adds them to `results`, over the coordinate `piece`. The pieces are of 1024 tokens,
// or of as many as leave 32 pieces; nothing is added where there are too few, where the model has
// no loss, or where `stop` is requested.
void measure_early_warning(const CutText& cut, const LimitsOptions& options,
                           const SourceInfo& model, Results& results, Progress* progress,
                           const std::stop_token& stop);

}  // namespace headgauge
