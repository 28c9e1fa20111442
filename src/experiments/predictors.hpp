// Properties of every head that may predict the change of the loss: its metrics and flags.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/cells.hpp"

namespace headgauge {

struct Predictor {
  std::string name;  // "entropy", "tokens_for_error sampler=recent", "flag sinks", "layer"
  std::vector<double> values;  // by head; NaN: undefined; infinite: none was found
};

// Returns the metrics of single heads at the longest length, the judged top_n, T = 1, a step of
// 0.001 and a tolerance of 5 %, with one predictor for each label of other short dims; each kind of
// flag that some head has, as 0 and 1; and the layer number, the baseline for all others.
std::vector<Predictor> predictors_of(const Results& results, std::span<const HeadName> heads);

}  // namespace headgauge
