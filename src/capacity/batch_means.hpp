// Means over the rows of a layer, at every length, with the standard errors of batch means: as the
// engine computes them for rows of a head.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "headgauge/measure.hpp"

namespace headgauge {

struct BatchRow {
  int document = 0;
  Index query = 0;
  Index n = 0;
};

class BatchMeans {
 public:
  // `rows` by document, then query. Where rows are a sample, each stands for as many of its bin of
  // positions (edges: the lengths and the powers of two below the longest) as the bin has rows
  // for each one sampled.
  BatchMeans(std::vector<BatchRow> rows, std::span<const int> lengths,
             const std::map<int, Index>& document_lengths);

  // Weight of row `r` in the mean at number `length` of the lengths; 0: not part of it.
  double weight(std::size_t r, Index length) const;

  // Mean of value(r) over the rows with more than `size` keys.
  template <class Value>
  CellStatistics mean(Index length, int size, const Value& value) const {
    Sums sums;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const double w = weight(r, length);
      if (w == 0 || rows_[r].n <= size) continue;
      sums.add(rows_[r], w, value(r));
    }
    return sums.finish();
  }

 private:
  struct Batch {
    double sum = 0;
    double weight = 0;
  };
  struct Sums {
    std::vector<Batch> blocks, documents;
    BatchRow last;
    std::int64_t rows = 0;
    void add(const BatchRow& row, double weight, double value);
    CellStatistics finish() const;
  };
  static double standard_error(std::span<const Batch> batches);

  std::vector<BatchRow> rows_;
  std::vector<double> weights_;
  std::vector<int> lengths_;
  std::map<int, Index> document_lengths_;
};

}  // namespace headgauge
