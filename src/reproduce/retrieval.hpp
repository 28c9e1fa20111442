// Measures the answers of cases beside the heads' entropy and separability in the same cases.
#pragma once

#include <stop_token>

#include "headgauge/reproduce.hpp"

namespace headgauge {

// Adds what scan() says of the answers of LimitsOptions::answers, and the metrics of
// LimitsOptions::cases over the coordinate answered_case. Adds nothing without cases, and if `stop`
// is requested.
void measure_retrieval(const LimitsOptions& options, Results& results, Progress* progress,
                       const std::stop_token& stop);

}  // namespace headgauge
