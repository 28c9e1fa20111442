// Means of rows with the standard errors of batch means. Rows of a head, rows of a layer and losses
// all use this code (docs/mathematics.md 10).
#pragma once

#include <cstdint>

#include "headgauge/measure.hpp"

namespace headgauge {

// Number of neighbouring, and therefore correlated, rows of one document that form a batch if there
// are too few documents.
inline constexpr Index kBlockRows = 64;
inline constexpr Index kFewestBatches = 4;
inline constexpr Index kMostRows = Index{1} << 40;  // in a batch that is read back

// Returns whether the batches are whole documents, for means over this many documents. If not, each
// block of a document is a batch.
constexpr bool documents_are_batches(Index documents) {
  return documents >= kFewestBatches;
}

// Weighted sum over the rows of one batch.
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

// Adds batches one after the other and stores none of them.
class BatchMeans {
 public:
  // Ignores a batch without rows.
  void add(const RowSum& batch);
  // Returns the mean m and its standard error sqrt(K/(K-1) sum (s_b - w_b m)^2) / W over K batches,
  // with K - 1 degrees of freedom; undefined with fewer than 4 batches.
  Estimate finish() const;

 private:
  RowSum all_;
  Index batches_ = 0;
  // Sums over s_b - w_b p, where p is the mean of the first batch. This loses few digits unless p
  // lies far from the other means (docs/mathematics.md 10).
  double pilot_ = 0;
  double squares_ = 0;   // its squares
  double products_ = 0;  // its products with w_b
  double weights_ = 0;   // squares of w_b
};

}  // namespace headgauge
