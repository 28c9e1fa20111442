// The rows of a layer in one document, for means at every length. Means are taken as the scan takes
// them over the rows of a head.
#pragma once

#include <span>
#include <vector>

#include "headgauge/measure.hpp"
#include "heads/batch_means.hpp"

namespace headgauge {

struct LayerRow {
  Index query = 0;
  Index n = 0;
};

class LayerRows {
 public:
  // `rows` are by query, in a document of `document_length` tokens. If rows are a sample, each row
  // represents its share of the rows in its position bin (edges: the lengths and the powers of two
  // below the longest).
  LayerRows(std::vector<LayerRow> rows, std::span<const int> lengths, Index document_length);

  // Returns the weight of row `r` in the mean over the rows up to the length with index `length`; 0
  // if it is not included.
  double weight(Index r, Index length) const;

  // Sums value(r) over the rows with more than `size` keys for each batch: the blocks, or all rows
  // if documents are the batches.
  template <class Value>
  std::vector<RowSum> batches(Index length, int size, bool documents, const Value& value) const {
    std::vector<RowSum> batches;
    Index block = -1;
    for (Index r = 0; r < std::ssize(rows_); ++r) {
      const double w = weight(r, length);
      if (w == 0 || rows_[r].n <= size) continue;
      const Index of_row = documents ? 0 : rows_[r].query / kBlockRows;
      if (of_row != block) batches.emplace_back();
      block = of_row;
      batches.back().add({w * value(r), w, 1});
    }
    return batches;
  }

 private:
  std::vector<LayerRow> rows_;
  std::vector<double> weights_;
  std::vector<int> lengths_;
  Index document_length_;
};

}  // namespace headgauge
