// Means over the rows of a layer, at every length: as the scan takes them over rows of a head.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "headgauge/measure.hpp"
#include "heads/batch_means.hpp"

namespace headgauge {

struct LayerRow {
  int document = 0;
  Index query = 0;
  Index n = 0;
};

class LayerRows {
 public:
  // `rows` by document, then query. Where rows are a sample, each stands for as many of its bin of
  // positions (edges: the lengths and the powers of two below the longest) as the bin has rows
  // for each one sampled.
  LayerRows(std::vector<LayerRow> rows, std::span<const int> lengths,
            const std::map<int, Index>& document_lengths);

  // Weight of row `r` in the mean at number `length` of the lengths; 0: not part of it.
  double weight(Index r, Index length) const;

  // Mean of value(r) over the rows with more than `size` keys.
  template <class Value>
  Estimate mean(Index length, int size, const Value& value) const {
    BatchMeans means;
    for (Index r = 0; r < std::ssize(rows_); ++r) {
      const double w = weight(r, length);
      if (w == 0 || rows_[r].n <= size) continue;
      means.add(rows_[r].document, rows_[r].query / kBlockRows, w * value(r), w, 1);
    }
    return means.finish();
  }

 private:
  std::vector<LayerRow> rows_;
  std::vector<double> weights_;
  std::vector<int> lengths_;
  std::map<int, Index> document_lengths_;
};

}  // namespace headgauge
