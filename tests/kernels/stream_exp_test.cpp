#include "kernels/stream_exp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "kernels/levels.hpp"

namespace headgauge {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

void stream_row(std::span<float> row, float& largest, MatrixView<const float> columns,
                std::span<float> sums) {
  stream_exp({row.data(), 1, std::ssize(row)}, {&largest, 1}, columns,
             {sums.data(), 1, std::ssize(sums)});
}

class StreamExp : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(StreamExp);

TEST_P(StreamExp, EqualsTheDefinition) {
  const RandomStream random(3, RandomDomain::phantom, 0, 0);
  for (Index n : {1, 2, 7, 16, 17, 31, 48, 100, 480}) {
    for (Index columns = 0; columns <= kMostStreamColumns; ++columns) {
      for (double spread : {0.1, 3.0, 60.0}) {
        std::vector<double> z(n * (columns + 1));
        random.normals(z, static_cast<std::uint32_t>(n * 100));
        std::vector<float> scores;
        for (Index j = 0; j < n; ++j) {
          scores.push_back(static_cast<float>(spread * z[j]));
        }
        Matrix<float> matrix(columns, n);
        for (Index k = 0; k < columns * n; ++k) {
          matrix.data()[k] = static_cast<float>(z[n + k]);
        }
        for (double before : {-std::numeric_limits<double>::infinity(), 0.5 * spread}) {
          double top = before;
          for (float s : scores) top = std::max(top, static_cast<double>(s));
          std::vector<float> row = scores;
          std::array<float, kMostStreamColumns + 1> sums;
          auto largest = static_cast<float>(before);
          stream_row(row, largest, matrix, sums);
          EXPECT_EQ(largest, static_cast<float>(top));
          std::vector<double> expected(columns + 1), size = expected;
          for (Index j = 0; j < n; ++j) {
            const double x = scores[j] - static_cast<double>(static_cast<float>(top));
            const double e = x < -87 ? 0 : std::exp(x);
            EXPECT_NEAR(row[j], e, e * (2e-6 + 2e-7 * std::abs(x)) + 2e-38);
            for (Index k = 0; k <= columns; ++k) {
              const double term = e * (k == 0 ? 1 : matrix(k - 1, j));
              expected[k] += term;
              size[k] += std::abs(term);
            }
          }
          for (std::size_t k = 0; k < expected.size(); ++k) {
            EXPECT_NEAR(sums[k], expected[k], 2e-5 * size[k] + 1e-37) << n << " " << k;
          }
        }
      }
    }
  }
}

TEST_P(StreamExp, ARowHasTheSameBitsWhicheverRowsAreWithIt) {
  const RandomStream random(4, RandomDomain::phantom, 0, 0);
  for (Index rows : {1, 3, 4, 7, 9}) {
    for (Index n : {5, 48, 100}) {
      // Columns beyond n belong to nobody.
      Matrix<float> scores(rows, n + 3);
      std::vector<double> z(rows * (n + 3));
      random.normals(z, static_cast<std::uint32_t>(n));
      std::ranges::transform(z, scores.data(), [](double x) { return static_cast<float>(9 * x); });
      Matrix<float> together = scores, sums(rows, 1);
      std::vector<float> largest(rows, 2.0f);
      stream_exp(together.view().block(0, rows, 0, n), largest, {}, sums);
      for (Index r = 0; r < rows; ++r) {
        float top = 2.0f, sum = 0.0f;
        stream_row(scores.row(r).first(n), top, {}, {&sum, 1});
        EXPECT_EQ(top, largest[r]);
        EXPECT_EQ(sum, sums(r, 0));
        EXPECT_TRUE(std::ranges::equal(scores.row(r), together.row(r)));
      }
    }
  }
}

TEST_P(StreamExp, ARowOfHiddenScoresGivesZeros) {
  for (std::size_t n : {3, 16, 40}) {
    std::vector<float> row(n, kHidden);
    std::array<float, 1> sums;
    float largest = kHidden;
    stream_row(row, largest, {}, sums);
    EXPECT_EQ(largest, kHidden);
    EXPECT_EQ(sums[0], 0.0f);
    EXPECT_EQ(row, std::vector<float>(n, 0.0f));
  }
}

TEST_P(StreamExp, NaNIsNotLost) {
  for (std::size_t n : {5, 33}) {
    for (std::size_t at = 0; at < n; at += 4) {
      std::vector<float> row(n, 1.0f);
      row[at] = std::numeric_limits<float>::quiet_NaN();
      std::array<float, 1> sums;
      float largest = 0;
      stream_row(row, largest, {}, sums);
      EXPECT_TRUE(std::isnan(sums[0])) << n << " " << at;
    }
  }
}

}  // namespace
}  // namespace headgauge
