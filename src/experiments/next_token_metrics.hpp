// Computes loss, its change and the divergence from the predictions for every token.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/model.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// The predictions under one intervention (or of the original) for all documents.
using Predictions = std::vector<NextTokens>;

// The three metrics over `outer` dims, the dimension of the interventions and length; cells start
// undefined.
class NextTokenMetrics {
 public:
  NextTokenMetrics(std::vector<std::string> dims, Results& results);
  // Fills in the lengths of one cell along `dims` (without length). The change is paired: its
  // standard error comes from the differences token by token.
  void put(std::span<const Index> cell, const Predictions& original,
           const Predictions& intervention);

 private:
  Results& results_;
  LabelledArray* loss_;
  LabelledArray* change_;
  LabelledArray* divergence_;
};

}  // namespace headgauge
