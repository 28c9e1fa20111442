// Softmax of rows whose scores arrive in blocks of keys: sums are kept relative to the largest
// score so far.
#pragma once

#include <vector>

#include "headgauge/base.hpp"
#include "kernels/stream_exp.hpp"

namespace headgauge {

class OnlineSoftmax {
 public:
  // Rows that have seen no key yet, and their sums `out`, which become zero.
  void begin(MatrixView<float> out);

  // The scores of the rows from `first` on with the next keys become weights relative to the
  // largest so far, to which `out`, the sums of these rows, is scaled. The sums of weights times
  // `columns` (at most kMostStreamColumns rows, one for each) are added to the last columns of out;
  // the caller adds the products with other columns.
  void weigh(Index first, MatrixView<float> scores, MatrixView<const float> columns,
             MatrixView<float> out);

  // Divides the sums of all rows by those of their weights.
  void finish(MatrixView<float> out) const;

 private:
  std::vector<float> largest_, weight_;  // of each row, so far
  std::vector<float> before_;            // the largest before a block
  Matrix<float> sums_;
};

}  // namespace headgauge
