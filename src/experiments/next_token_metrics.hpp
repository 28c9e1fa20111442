// Computes loss, its change and the divergence from the predictions for every token.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/model.hpp"
#include "headgauge/results.hpp"
#include "scan/repeats.hpp"

namespace headgauge {

// The metrics of the predictions over `dims`, the last of which is that of the interventions, and
// over length or the distance of repeats; cells start undefined.
class NextTokenMetrics {
 public:
  // `repeats` must live as long as this object.
  NextTokenMetrics(std::vector<std::string> dims, const RepeatGaps& repeats, Results& results);
  // Fills in the lengths of one cell along `dims` (without length). The change is paired: its
  // standard error comes from the differences token by token.
  void put(std::span<const Index> cell, const Predictions& original,
           const Predictions& intervention);

 private:
  Results& results_;
  LabelledArray* loss_;
  LabelledArray* change_;
  LabelledArray* divergence_;
  const RepeatGaps& repeats_;
  LabelledArray* by_gap_ = nullptr;  // these three are null if no tokens are known
  LabelledArray* change_by_gap_ = nullptr;
  LabelledArray* reach_ = nullptr;
};

}  // namespace headgauge
