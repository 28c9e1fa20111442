// Loss, its change and the divergence, from what interventions say of every token.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/model.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// One intervention (or the original) over all documents.
using Predictions = std::vector<NextTokens>;

// The three metrics over `outer` dims, the interventions' dimension and length; cells undefined.
class NextTokenMetrics {
 public:
  NextTokenMetrics(std::vector<std::string> dims, Results& results);
  // Fills in the lengths of one cell along `dims` (length left out). The change is paired: its
  // standard error is that of the differences, token by token.
  void put(std::span<const Index> cell, const Predictions& original,
           const Predictions& intervention);

 private:
  Results& results_;
  LabelledArray* loss_;
  LabelledArray* change_;
  LabelledArray* divergence_;
};

}  // namespace headgauge
