#include "kernels/online_softmax.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "kernels/levels.hpp"

namespace headgauge {
namespace {

class OnlineSoftmaxOfBlocks : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(OnlineSoftmaxOfBlocks);

constexpr float kNoScore = -std::numeric_limits<float>::infinity();

Matrix<float> scores_of(Index rows, Index cols, std::uint32_t seed) {
  std::vector<double> z(rows * cols);
  RandomStream(5, RandomDomain::phantom, 0, 0).normals(z, seed);
  Matrix<float> made(rows, cols);
  std::ranges::transform(z, made.data(), [](double x) { return static_cast<float>(x); });
  return made;
}

// Means of `values` (columns of keys) under the softmax of whole rows of scores, in double.
double mean_of(std::span<const float> scores, const Matrix<float>& values, Index column) {
  const double top = std::ranges::max(scores);
  double sum = 0, weight = 0;
  for (Index j = 0; j < std::ssize(scores); ++j) {
    const double e = std::exp(scores[j] - top);
    weight += e;
    sum += e * values(column, j);
  }
  return sum / weight;
}

// The scores of 5 rows grow from block to block by more than 87, so that what was summed before is
// forgotten, or fall; a block of a row may be hidden, the first one too.
TEST_P(OnlineSoftmaxOfBlocks, AreThoseOfWholeRows) {
  constexpr Index kRows = 5, kKeys = 60, kBlock = 20, kColumns = 3;
  const Matrix<float> values = scores_of(kColumns, kKeys, 1);
  for (float growth : {0.0f, 3.0f, 200.0f, -200.0f}) {
    Matrix<float> scores = scores_of(kRows, kKeys, 2);
    for (Index r = 0; r < kRows; ++r) {
      for (Index j = 0; j < kKeys; ++j) {
        scores(r, j) += growth * static_cast<float>(j / kBlock);
        if (j / kBlock == r) scores(r, j) = kNoScore;
      }
    }
    Matrix<float> passing = scores, out = scores_of(kRows, kColumns, 3);
    OnlineSoftmax softmax;
    softmax.begin(out);
    for (Index begin = 0; begin < kKeys; begin += kBlock) {
      // In two calls of different rows.
      for (Index first : {0, 2}) {
        const Index count = first == 0 ? 2 : kRows - 2;
        softmax.weigh(first, passing.view().block(first, count, begin, kBlock),
                      values.view().block(0, kColumns, begin, kBlock),
                      out.view().block(first, count, 0, kColumns));
      }
    }
    softmax.finish(out);
    for (Index r = 0; r < kRows; ++r) {
      for (Index k = 0; k < kColumns; ++k) {
        EXPECT_NEAR(out(r, k), mean_of(scores.row(r), values, k), 3e-6) << growth << " " << r;
      }
    }
  }
}

}  // namespace
}  // namespace headgauge
