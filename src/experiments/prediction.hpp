// Tests whether one quantity of the heads predicts another, over several texts (docs/mathematics.md
// 7c).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "statistics/inference.hpp"

namespace headgauge {

// One row per text, one column per head.
using HeadTable = std::vector<std::vector<double>>;

struct Prediction {
  double correlation = kUndefined;  // mean of by_text
  double within = kUndefined;       // the part of it within the layers
  Interval interval;                // 95 %, over resampled heads
  double p = kUndefined;            // two-sided, by permuting the heads of each layer
  double p_of_any = kUndefined;     // the same, by permuting all heads: depth alone may predict
  std::vector<double> by_text;      // by the text of the predictor
  int heads = 0;                    // heads in which everything is defined
};

struct PredictionOptions {
  int permutations = 9999;
  int resamples = 1000;
  std::uint64_t seed = 0;
  // The layer of each head, ascending; empty: all heads are of one layer.
  std::vector<Index> layers = {};
};

// Returns for every text the mean of the others; with one text, that text itself.
HeadTable other_texts(const HeadTable& table);

// Returns Spearman's correlation over the heads between `predictor` on a text and `outcome` on the
// others. An infinite predictor ranks last. Heads with an undefined value on some text are left
// out. Everything is undefined with fewer than 8 heads, or if all values of a text are equal.
// `pair` selects the random streams.
Prediction predict(const HeadTable& predictor, const HeadTable& outcome,
                   const PredictionOptions& plan, std::uint32_t pair);

// Returns the mean rank correlation between every two texts; undefined with one text.
double replication(const HeadTable& outcome);

}  // namespace headgauge
