// Takes the loss of a text apart by how far back the text could have been copied from.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "headgauge/array.hpp"
#include "headgauge/base.hpp"

namespace headgauge {

class HeadSource;

// Returns for each prediction t = 1..L-1 of a document how far back its bigram was last seen: the
// distance from t to the last s < t with (x_s, x_{s+1}) = (x_t, x_{t+1}), or 0 if there is none
// (docs/mathematics.md 7h).
std::vector<Index> repeat_gaps(std::span<const int> tokens);

// The octaves of these distances over several documents, and "none" for predictions without one.
class RepeatGaps {
 public:
  // Reads the tokens of all texts; cases of tasks have no distances.
  explicit RepeatGaps(const HeadSource& source);
  // Returns whether the source knows the tokens.
  bool known() const {
    return std::ranges::any_of(gaps_, [](const auto& gaps) { return !gaps.empty(); });
  }
  // Returns the labels along the dim "gap": "1", "2-3", "4-7", ..., "none".
  std::vector<std::string> labels() const;
  // Returns the mean of the values, one for each prediction of each document, in each octave, with
  // its standard error over documents or blocks of 64 predictions, as for rows. An octave that
  // fewer than four documents have is judged by blocks.
  std::vector<Estimate> means(std::span<const std::vector<double>> values) const;

 private:
  std::vector<std::vector<Index>> gaps_;  // by document
  Index octaves_ = 0;
};

// Returns the shortest distance of the first octave whose change is shown to exceed that of the
// last, what repeats nothing, by more than `least` (one-sided Welch test, 5 % over all octaves by
// Bonferroni); -1 if none is.
double first_octave_above(std::span<const Estimate> changes, double least);

}  // namespace headgauge
