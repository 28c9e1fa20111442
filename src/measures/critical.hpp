// Critical N (docs/mathematics.md 2, 7a): the first N at which a test shows the heads' mean
// distances and mean expected distances to be equal; the N at which they are closest; and paper A's
// critical N (Fig. 2c and Alg. 3), the first N at which a test finds no difference.
#pragma once

#include <span>
#include <vector>

#include "headgauge/measure.hpp"
#include "statistics/nonparametric.hpp"

namespace headgauge {

// Two means count as equal if their ratio is from 1/(1 + margin) to 1 + margin.
inline constexpr double kEqualityMargin = 0.05;

// The hidden metrics from which critical N is derived, for N = 1..count.
struct CriticalMetrics {
  MetricHandle distance;  // distance_at_n
  MetricHandle context;   // expected_distance_context_at_n
  MetricHandle excess;    // context_excess_at_n, the difference of the two in each row
};

// Adds every metric of critical N and of the closest N, for the whole model and for each head.
void derive_critical(std::span<const LayerStatistics* const> layers, const CriticalMetrics& metrics,
                     const MeasureOptions& options, Results& results);

// Compares the heads' mean distances with their mean expected distances at one length, for N = 1,
// 2, ... (docs/mathematics.md 7a, critical N).

// Measured heads x N; undefined if no row of a head has more than N keys.
struct PairedMeans {
  Matrix<double> distance;
  Matrix<double> context;
  Matrix<double> log_ratio;  // log(distance / context) in [-20, 20]; undefined if both are 0
  Matrix<double> error;      // of log_ratio, from the batches of rows; undefined without batches
  Matrix<double> freedom;    // degrees of freedom of that error

  Index heads() const { return log_ratio.rows(); }
  Index sizes() const { return log_ratio.cols(); }
};

// The layer and head of each row of PairedMeans, as indices in the results.
struct HeadPlace {
  Index layer = 0;
  Index head = 0;
  int number = 0;  // of the head in LayerStatistics
};

PairedMeans paired_means(std::span<const LayerStatistics* const> layers,
                         const CriticalMetrics& metrics, std::span<const HeadPlace> heads,
                         Index length, Index sizes);

// An N and the value found there.
struct SizeFound {
  double n = kUndefined;
  double value = kUndefined;
  double error = kUndefined;    // of the value
  double freedom = kUndefined;  // of that error
};

// Returns for each N the p-value of the null hypothesis that the two differ by kEqualityMargin or
// more. It is the larger of two: for the center over heads, adjusted for all N (sign_flip_tests),
// and for the median of the heads over the batches of the text.
std::vector<double> equality_p_values(const PairedMeans& means, const SignFlipOptions& options);
// Returns the same for one head over its batches, separately for each N.
std::vector<double> equality_p_values_of_head(const PairedMeans& means, Index head);

// Returns the first N whose p is below the level, with p; else n = -1 and the smallest p. Undefined
// if every p is.
SizeFound first_equal(std::span<const double> p, double level);

// Finds the N at which the median over heads of log_ratio is closest to 0.
class ClosestSize {
 public:
  explicit ClosestSize(const PairedMeans& means);
  // Returns the first of the closest N and the median there over these heads; a head may be listed
  // more than once.
  SizeFound of(std::span<const Index> heads);

 private:
  double median_at(Index size, std::span<const Index> heads) const;

  const PairedMeans& means_;
  std::vector<std::vector<Index>> ascending_;  // by N: heads in ascending order of log_ratio
  std::vector<Index> times_;                   // number of times that a head is listed
};

// Returns the N at which one head's log_ratio is closest to 0, with its value and error.
SizeFound closest_size_of_head(const PairedMeans& means, Index head);

// Paper A's critical N: the first N at which the two-sample Kolmogorov-Smirnov test over the heads
// does not reject; else n = -1 and the N with the largest p.
struct KolmogorovSmirnovFound {
  double n = kUndefined;
  double d = kUndefined;
  double p = kUndefined;
};
KolmogorovSmirnovFound first_not_rejected(const PairedMeans& means, double level);

}  // namespace headgauge
