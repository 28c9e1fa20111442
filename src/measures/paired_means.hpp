// What the heads' mean distances and mean expected distances say of each other at one length, for
// N = 1, 2, ... (docs/mathematics.md 7a, critical N).
#pragma once

#include <span>
#include <vector>

#include "measures/critical.hpp"
#include "statistics/sign_flips.hpp"

namespace headgauge {

// Heads that were measured x N; undefined where no row of a head has more than N keys.
struct PairedMeans {
  Matrix<double> distance;
  Matrix<double> context;
  Matrix<double> log_ratio;  // log(distance / context), from -20 to 20; undefined where both are 0
  Matrix<double> error;      // of log_ratio, from the batches of rows; undefined without batches
  Matrix<double> freedom;    // of that error

  Index heads() const { return log_ratio.rows(); }
  Index sizes() const { return log_ratio.cols(); }
};

// The layer and head of each row of PairedMeans, as places in the results.
struct HeadPlace {
  Index layer = 0;
  Index head = 0;
  int number = 0;  // of the head, as LayerStatistics takes it
};

PairedMeans paired_means(std::span<const LayerStatistics* const> layers,
                         const CriticalMetrics& metrics, std::span<const HeadPlace> heads,
                         Index length, Index sizes);

// An N and what was found there.
struct SizeFound {
  double n = kUndefined;
  double value = kUndefined;
  double error = kUndefined;    // of the value
  double freedom = kUndefined;  // of that error
};

// For each N the p of the null that the two differ by kEqualityMargin or more in the center over
// heads, adjusted for all N (sign_flip_tests), or in the median of the heads over the batches of
// the text, whichever is larger.
std::vector<double> equality_p_values(const PairedMeans& means, const SignFlipOptions& options);
// The same for one head over its batches, each N by itself.
std::vector<double> equality_p_values_of_head(const PairedMeans& means, Index head);

// The first N whose p is below the level, with p; else n = -1 and the smallest p. Undefined where
// every p is.
SizeFound first_equal(std::span<const double> p, double level);

// Finds the N at which the median over heads of log_ratio is closest to 0.
class ClosestSize {
 public:
  explicit ClosestSize(const PairedMeans& means);
  // The first of the closest N, and the median there, over these heads, which may be named more
  // than once.
  SizeFound of(std::span<const Index> heads);

 private:
  double median_at(Index size, std::span<const Index> heads) const;

  const PairedMeans& means_;
  std::vector<std::vector<Index>> ascending_;  // by N: the heads with a log_ratio, by its size
  std::vector<Index> times_;                   // that a head is named
};

// The N at which one head's log_ratio is closest to 0, with its value and error.
SizeFound closest_size_of_head(const PairedMeans& means, Index head);

// Paper A's: the first N at which the two-sample Kolmogorov-Smirnov test over the heads does not
// reject; else n = -1 and the N with the largest p.
struct KolmogorovSmirnovFound {
  double n = kUndefined;
  double d = kUndefined;
  double p = kUndefined;
};
KolmogorovSmirnovFound first_not_rejected(const PairedMeans& means, double level);

}  // namespace headgauge
