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

// A threshold of the predictor that separates heads, chosen on one text and tested on the others.
struct Threshold {
  double value = kUndefined;       // median of the thresholds chosen on each text
  double separation = kUndefined;  // mean rank-biserial correlation on the other texts
  double p = kUndefined;  // one-sided, by permuting as for Prediction::p and repeating the choice
};

// Chooses on each text the threshold between values of `predictor`, with at least 4 heads on either
// side, whose sides differ most in the ranks of `outcome`: |2 (mean rank above - mean rank below)|
// / heads. Tests it on every other text with that text's predictor and outcome, and with the chosen
// sign; 0 if all heads are on one side. Undefined with one text, where predict() is undefined, and
// if no text has a threshold.
Threshold choose_threshold(const HeadTable& predictor, const HeadTable& outcome,
                           const PredictionOptions& plan, std::uint32_t pair);

// Returns the mean rank correlation between every two texts; undefined with one text.
double replication(const HeadTable& outcome);

}  // namespace headgauge
