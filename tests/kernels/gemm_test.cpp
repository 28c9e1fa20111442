#include "kernels/gemm.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/levels.hpp"

namespace headgauge {
namespace {

class Gemm : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(Gemm);

Matrix<float> random_matrix(Index rows, Index cols, std::uint64_t seed) {
  Matrix<float> out(rows, cols);
  const auto values = normals(rows * cols, seed);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) out(i, j) = values[i * cols + j];
  }
  return out;
}

Matrix<float> transposed(const Matrix<float>& m) {
  Matrix<float> out(m.cols(), m.rows());
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) out(j, i) = m(i, j);
  }
  return out;
}

constexpr float kSentinel = 1e30f;

// Compares every element with the sum in float64. A sum of k products in any order, in float32, is
// off by at most k roundings of the sum of the terms' magnitudes; bias and c add two.
void expect_product(const Matrix<float>& a, const Matrix<float>& b, const Matrix<float>& before,
                    const Matrix<float>& c, const GemmOptions& options) {
  const Index end = options.col_end < 0 ? b.cols() : options.col_end;
  for (Index i = 0; i < c.rows(); ++i) {
    for (Index j = 0; j < c.cols(); ++j) {
      if (i >= a.rows() || j < options.col_begin || j >= end) {
        ASSERT_EQ(c(i, j), before(i, j)) << "written outside at " << i << "," << j;
        continue;
      }
      double sum = 0.0, magnitude = 0.0;
      for (Index k = 0; k < a.cols(); ++k) {
        const double term = double(a(i, k)) * b(options.b_row + k, j);
        sum += term;
        magnitude += std::abs(term);
      }
      if (!options.bias.empty()) {
        sum += options.bias[j];
        magnitude += std::abs(options.bias[j]);
      }
      if (options.accumulate) {
        sum += before(i, j);
        magnitude += std::abs(before(i, j));
      }
      ASSERT_NEAR(c(i, j), sum, double(a.cols() + 2) * kSingleRounding * magnitude)
          << a.rows() << "x" << a.cols() << "x" << b.cols() << " at " << i << "," << j;
    }
  }
}

TEST_P(Gemm, AgreesWithFloat64AtOddSizes) {
  std::uint64_t seed = 0;
  for (const Index m : {1, 2, 5, 6, 7, 8, 9, 17}) {
    for (const Index k : {1, 3, 64, 255, 256, 257, 600}) {
      for (const Index n : {1, 15, 16, 17, 31, 47, 48, 49, 64, 97}) {
        const auto a = random_matrix(m, k, ++seed), b = random_matrix(k, n, ++seed);
        Matrix<float> c(m + 1, n + 3);
        for (float& x : std::span(c.data(), std::size_t(c.rows() * c.cols()))) x = kSentinel;
        const Matrix<float> before = c;
        gemm(a, PackedMatrix::pack_rows(b), c);
        expect_product(a, b, before, c, {});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(Gemm, ScalesAddsAndKeepsToItsColumns) {
  const auto a = random_matrix(13, 300, 1), b = random_matrix(300, 130, 2);
  const auto bias = normals(130, 3);
  const PackedMatrix packed = PackedMatrix::pack_rows(b);
  for (const bool accumulate : {false, true}) {
    for (const auto& range : {std::pair<Index, Index>{0, -1},
                              {0, 1},
                              {0, 50},
                              {7, 9},
                              {48, 96},
                              {40, 130},
                              {17, 100},
                              {129, 130},
                              {30, 30}}) {
      for (const bool with_bias : {false, true}) {
        GemmOptions options{
            .accumulate = accumulate, .col_begin = range.first, .col_end = range.second};
        if (with_bias) options.bias = bias;
        Matrix<float> c = random_matrix(13, 130, 4);
        const Matrix<float> before = c;
        gemm(a, packed, c, options);
        expect_product(a, b, before, c, options);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(Gemm, MultipliesAWindowOfTheRowsOfB) {
  const auto a = random_matrix(9, 70, 1), b = random_matrix(300, 65, 2);
  const Matrix<float> before(9, 65);
  for (const Index row : {0, 1, 100, 230}) {
    Matrix<float> c(9, 65);
    gemm(a, PackedMatrix::pack_rows(b), c, {.b_row = row});
    expect_product(a, b, before, c, {.b_row = row});
  }
}

TEST_P(Gemm, ReadsNothingOutsideItsViews) {
  // Views into larger matrices of NaN: what leaks in shows.
  const Index m = 11, k = 37, n = 53;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Matrix<float> wide_a(m + 2, k + 9), wide_b(k + 2, n + 9);
  for (float& x : std::span(wide_a.data(), std::size_t((m + 2) * (k + 9)))) x = nan;
  for (float& x : std::span(wide_b.data(), std::size_t((k + 2) * (n + 9)))) x = nan;
  const auto a = random_matrix(m, k, 1), b = random_matrix(k, n, 2);
  for (Index i = 0; i < m; ++i) std::copy_n(&a(i, 0), k, &wide_a(i + 1, 5));
  for (Index i = 0; i < k; ++i) std::copy_n(&b(i, 0), n, &wide_b(i + 1, 5));
  const MatrixView<const float> view_a = wide_a.view().block(1, m, 5, k);
  const MatrixView<const float> view_b = wide_b.view().block(1, k, 5, n);
  Matrix<float> c(m, n);
  gemm(view_a, PackedMatrix::pack_rows(view_b), c);
  expect_product(a, b, Matrix<float>(m, n), c, {});
}

TEST_P(Gemm, ARowHasTheSameBitsWhateverTheSplit) {
  const auto a = random_matrix(37, 700, 5), b = random_matrix(700, 200, 6);
  const auto bias = normals(200, 7);
  const PackedMatrix packed = PackedMatrix::pack_rows(b);
  Matrix<float> whole(37, 200);
  gemm(a, packed, whole, {.bias = bias});
  for (const Index step : {1, 2, 3, 5, 8, 11, 36}) {
    Matrix<float> parts(37, 200);
    for (Index row = 0; row < 37; row += step) {
      const Index rows = std::min(step, 37 - row);
      // The columns are split as well.
      for (const auto& range : {std::pair<Index, Index>{0, 61}, {61, 200}}) {
        gemm(a.view().block(row, rows, 0, 700), packed, parts.view().block(row, rows, 0, 200),
             {.bias = bias, .col_begin = range.first, .col_end = range.second});
      }
    }
    ASSERT_EQ(std::memcmp(whole.data(), parts.data(), 37 * 200 * sizeof(float)), 0) << step;
  }
}

TEST_P(Gemm, AnEmptyInnerDimensionGivesTheBias) {
  const auto bias = normals(50, 7);
  Matrix<float> c(3, 50);
  c(0, 0) = kSentinel;
  gemm(Matrix<float>(3, 0), PackedMatrix::pack_rows(Matrix<float>(0, 50)), c, {.bias = bias});
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 50; ++j) ASSERT_EQ(c(i, j), bias[std::size_t(j)]);
  }
}

TEST_P(Gemm, EveryWayOfPackingGivesTheSamePanels) {
  for (const Index n : {1, 7, 16, 47, 48, 50, 100, 144}) {
    for (const Index k : {1, 5, 8, 16, 33, 64}) {
      // bfloat16 values, so that all storage types hold them exactly.
      Matrix<float> b = random_matrix(k, n, std::uint64_t(n * 100 + k));
      Matrix<std::uint16_t> half(k, n), half_t(n, k);
      for (Index i = 0; i < k; ++i) {
        for (Index j = 0; j < n; ++j) {
          const std::uint16_t bits = std::bit_cast<std::uint32_t>(b(i, j)) >> 16;
          b(i, j) = std::bit_cast<float>(std::uint32_t(bits) << 16);
          half(i, j) = half_t(j, i) = bits;
        }
      }
      // assign_* must clear what an earlier, larger matrix left behind.
      PackedMatrix reused = PackedMatrix::pack_rows(random_matrix(80, 200, 1));
      reused.assign_transposed(transposed(b));
      PackedMatrix doubled;
      doubled.assign_transposed(transposed(b), 2.0f);
      const PackedMatrix packed[] = {PackedMatrix::pack_rows(b),
                                     PackedMatrix::pack_transposed(transposed(b)),
                                     PackedMatrix::pack_rows(half, HalfType::bf16),
                                     PackedMatrix::pack_transposed(half_t, HalfType::bf16), reused};
      for (const PackedMatrix& p : packed) {
        ASSERT_EQ(p.rows(), k);
        ASSERT_EQ(p.cols(), n);
        for (Index i = 0; i < k; ++i) {
          for (Index j = 0; j < p.panels() * 48; ++j) {
            ASSERT_EQ(p.panel(j / 48)[i * 48 + j % 48], j < n ? b(i, j) : 0.0f)
                << k << "x" << n << " at " << i << "," << j;
            ASSERT_EQ(doubled.panel(j / 48)[i * 48 + j % 48],
                      2.0f * p.panel(j / 48)[i * 48 + j % 48]);
          }
        }
      }
    }
  }
}

TEST_P(Gemm, WidensEveryHalfExactly) {
  std::vector<std::uint16_t> bits(65536 + 3);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  std::vector<float> out(bits.size());
  widen(bits, HalfType::f16, out);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const int exponent = (bits[i] >> 10) & 31, fraction = bits[i] & 1023;
    double expected =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) expected = fraction == 0 ? HUGE_VAL : std::nan("");
    if ((bits[i] & 0x8000) != 0) expected = -expected;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(out[i])) << i;
    } else {
      ASSERT_EQ(out[i], expected) << i;
      ASSERT_EQ(std::signbit(out[i]), std::signbit(expected)) << i;
    }
  }
  widen(bits, HalfType::bf16, out);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::uint32_t(bits[i]) << 16);
  }
}

TEST_P(Gemm, DotAgreesWithFloat64) {
  for (const Index n : {0, 1, 2, 7, 15, 16, 17, 63, 64, 65, 300, 4097}) {
    const auto x = normals(n, 1), y = normals(n, 2);
    double sum = 0.0, magnitude = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += double(x[i]) * y[i];
      magnitude += std::abs(double(x[i]) * y[i]);
    }
    EXPECT_NEAR(dot(x, y), sum, double(n) * kSingleRounding * magnitude) << n;
  }
}

}  // namespace
}  // namespace headgauge
