// What is measured of pieces of a text and of cases of tasks one by one: whether changes of heads
// predict a rise of the loss, and whether answers are lost as the context grows.
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
void measure_early_warning(const LimitsOptions& options, const SourceInfo& model, Results& results,
                           Progress* progress, const std::stop_token& stop);

// Adds what scan() says of the answers of LimitsOptions::answers, and the metrics of
// LimitsOptions::cases over the coordinate answered_case. Adds nothing without cases, and if `stop`
// is requested.
void measure_retrieval(const LimitsOptions& options, Results& results, Progress* progress,
                       const std::stop_token& stop);

}  // namespace headgauge
