// Whether one quantity of the heads predicts another, over several texts (docs/mathematics.md 7c).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "statistics/inference.hpp"

namespace headgauge {

// One row a text, one column a head.
using HeadTable = std::vector<std::vector<double>>;

struct Prediction {
  double correlation = kUndefined;  // the mean of by_text
  Interval interval;                // 95 %, over resampled heads
  double p = kUndefined;            // two-sided, by permuted heads
  std::vector<double> by_text;      // by the text that the predictor is of
  int heads = 0;                    // in which all is defined
};

struct PredictionPlan {
  int permutations = 9999;
  int resamples = 1000;
  std::uint64_t seed = 0;
};

// Of every text the mean of the others; with one text, that text itself.
HeadTable other_texts(const HeadTable& table);

// Spearman's correlation over the heads between `predictor` on a text and `outcome` on the others.
// An infinite predictor ranks last. Heads with an undefined value on some text are left out;
// everything is undefined with fewer than 8 heads, or where all values of a text are the same.
// `pair` names the streams of random numbers.
Prediction predict(const HeadTable& predictor, const HeadTable& outcome, const PredictionPlan& plan,
                   std::uint32_t pair);

// Heads told apart by a threshold of the predictor that is chosen on one text and tried on the
// others.
struct Threshold {
  double value = kUndefined;       // the median of those chosen, one on each text
  double separation = kUndefined;  // the mean rank-biserial correlation on the other texts
  double p = kUndefined;           // one-sided, by permuted heads, the choice made anew
};

// On each text the threshold between values of `predictor`, at least 4 heads on either side, whose
// two sides differ most in the ranks of `outcome` there: |2 (mean rank above - mean rank
// below)| / heads. Tried on every other text with its own predictor and outcome, and with the sign
// that it was chosen for; 0 where all heads are on one side. Undefined with one text, where
// predict() is, and where no text has a threshold.
Threshold choose_threshold(const HeadTable& predictor, const HeadTable& outcome,
                           const PredictionPlan& plan, std::uint32_t pair);

// The mean rank correlation between every two texts; undefined with one text.
double replication(const HeadTable& outcome);

}  // namespace headgauge
