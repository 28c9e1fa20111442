// Softmax of rows whose scores arrive in blocks of keys. Sums are kept relative to the largest
// score so far.
#pragma once

#include <vector>

#include "headgauge/base.hpp"
#include "kernels/stream_exp.hpp"

namespace headgauge {

class OnlineSoftmax {
 public:
  // Starts rows that have seen no key yet, and sets their sums `out` to zero.
  void begin(MatrixView<float> out);

  // Turns the scores of the rows from `first` on with the next keys into weights relative to the
  // largest score so far, and rescales `out`, the sums of these rows, to it. Adds the sums of
  // weights times `columns` (at most kMostStreamColumns rows, one for each column) to the last
  // columns of out. The caller adds the products with the other columns.
  void weigh(Index first, MatrixView<float> scores, MatrixView<const float> columns,
             MatrixView<float> out);

  // Divides the sums of all rows by the sums of their weights.
  void finish(MatrixView<float> out) const;

 private:
  std::vector<float> largest_, weight_;  // of each row, so far
  std::vector<float> before_;            // the largest before the present block
  Matrix<float> sums_;
};

}  // namespace headgauge
