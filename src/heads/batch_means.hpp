// Means of rows with the standard errors of batch means: the one rule for rows of a head, rows of a
// layer and losses alike (docs/mathematics.md 10).
#pragma once

#include <vector>

#include "headgauge/measure.hpp"

namespace headgauge {

// Rows of one document that are neighbours and therefore correlated: the batches of a standard
// error.
inline constexpr Index kBlockRows = 64;

// Adds up parts of blocks. The parts of a block, and the blocks of a document, follow each other.
class BatchMeans {
 public:
  // `sum` of weighted values, their total `weight` and the number of `rows` behind them; a part
  // without rows counts for nothing.
  void add(Index document, Index block, double sum, double weight, std::int64_t rows);
  // The mean, and its standard error sqrt(K/(K-1) sum (s_b - w_b m)^2) / W over K batches:
  // documents where there are at least 4, else blocks; undefined with fewer than 4. It has K - 1
  // degrees of freedom.
  Estimate finish() const;

 private:
  struct Batch {
    double sum = 0;
    double weight = 0;
  };
  static double standard_error(const std::vector<Batch>& batches);

  std::vector<Batch> blocks_;
  std::vector<Batch> documents_;
  Index document_ = -1;
  Index block_ = -1;
  std::int64_t rows_ = 0;
};

}  // namespace headgauge
