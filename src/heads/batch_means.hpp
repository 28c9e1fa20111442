// Means of rows with the standard errors of batch means: the one rule for rows of a head, rows of a
// layer and losses alike (docs/mathematics.md 10).
#pragma once

#include <cstdint>

#include "headgauge/measure.hpp"

namespace headgauge {

// Rows of one document that are neighbours and therefore correlated: the batches of a standard
// error where there are too few documents.
inline constexpr Index kBlockRows = 64;
inline constexpr Index kFewestBatches = 4;
inline constexpr Index kMostRows = Index{1} << 40;  // of a batch that is read again

// Of means over rows of this many documents: whether the rows of a document are one batch, or its
// blocks are one each.
constexpr bool documents_are_batches(Index documents) {
  return documents >= kFewestBatches;
}

// Weighted values of rows that are taken together.
struct RowSum {
  double value = 0;
  double weight = 0;
  std::int64_t rows = 0;
  void add(const RowSum& other) {
    value += other.value;
    weight += other.weight;
    rows += other.rows;
  }
};

// Takes batches one after the other, and keeps none of them.
class BatchMeans {
 public:
  // A batch without rows counts for nothing.
  void add(const RowSum& batch);
  // The mean m, and its standard error sqrt(K/(K-1) sum (s_b - w_b m)^2) / W over K batches;
  // undefined with fewer than 4. It has K - 1 degrees of freedom.
  Estimate finish() const;

 private:
  RowSum all_;
  Index batches_ = 0;
  // Of s_b - w_b p, where p is the mean of the first batch: few digits are lost, unless that lies
  // far from the others (docs/mathematics.md 10).
  double pilot_ = 0;
  double squares_ = 0;   // of it
  double products_ = 0;  // of it with w_b
  double weights_ = 0;   // squares of w_b
};

}  // namespace headgauge
