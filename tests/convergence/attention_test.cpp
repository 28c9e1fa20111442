#include "convergence/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.hpp"

namespace headgauge {
namespace {

Matrix<float> normals(Index rows, Index cols, std::uint32_t which, double scale = 1) {
  Matrix<float> out(rows, cols);
  std::vector<double> z(rows * cols);
  RandomStream(11, RandomDomain::phantom, which, 0).normals(z);
  for (Index i = 0; i < rows * cols; ++i) {
    out.data()[i] = static_cast<float>(scale * z[i]);
  }
  return out;
}

// Attention as it is defined, in float64.
std::vector<double> naive(const Matrix<float>& queries, const Matrix<float>& tokens, Index row) {
  const Index n = tokens.rows(), d = tokens.cols();
  std::vector<double> score(n), out(d);
  double top = -1e300, sum = 0;
  for (Index j = 0; j < n; ++j) {
    double& s = score[j];
    for (Index k = 0; k < d; ++k) s += static_cast<double>(queries(row, k)) * tokens(j, k);
    top = std::max(top, s);
  }
  for (Index j = 0; j < n; ++j) {
    const double e = std::exp(score[j] - top);
    sum += e;
    for (Index k = 0; k < d; ++k) out[k] += e * tokens(j, k);
  }
  for (double& value : out) value /= sum;
  return out;
}

struct Shape {
  Index tokens, dimension;
  double sharpness;
};

TEST(StreamedAttention, EqualsTheDefinition) {
  const std::vector<Shape> shapes = {{1, 1, 1},    {2, 2, 1},     {479, 3, 2},  {480, 16, 1},
                                     {481, 17, 1}, {1000, 50, 1}, {97, 21, .1}, {1500, 20, 3},
                                     {700, 15, 8}, {600, 32, 1e4}};
  for (const auto& [n, d, sharpness] : shapes) {
    const Matrix<float> tokens = normals(n, d, 1), queries = normals(130, d, 2, sharpness);
    StreamedAttention attention;
    StreamedAttention::Scratch scratch;
    attention.set_tokens(tokens);
    Matrix<float> out(130, d);
    ASSERT_TRUE(attention.attend(queries, out, scratch, {}));
    for (Index i = 0; i < 130; i += 7) {
      const auto expected = naive(queries, tokens, i);
      for (Index k = 0; k < d; ++k) {
        // Scores are rounded in float32, by 1e-7 of sums of d products.
        const double tolerance = 3e-6 * (1 + sharpness * std::sqrt(static_cast<double>(d)));
        EXPECT_NEAR(out(i, k), expected[k], tolerance) << n << " x " << d << ", row " << i;
      }
    }
    // A row alone has the same bits.
    Matrix<float> alone(1, d);
    const Index row = 100;
    ASSERT_TRUE(attention.attend(queries.view().block(row, 1, 0, d), alone, scratch, {}));
    for (Index k = 0; k < d; ++k) EXPECT_EQ(alone(0, k), out(row, k));
  }
}

TEST(StreamedAttention, KeepsNothingOfOtherTokens) {
  const Index d = 20;
  const Matrix<float> queries = normals(10, d, 2), many = normals(1200, d, 3);
  const Matrix<float> few = normals(300, d, 4);
  StreamedAttention used, fresh;
  StreamedAttention::Scratch scratch;
  Matrix<float> first(10, d), second(10, d);
  used.set_tokens(many);
  used.set_tokens(few);
  fresh.set_tokens(few);
  ASSERT_TRUE(used.attend(queries, first, scratch, {}));
  ASSERT_TRUE(fresh.attend(queries, second, scratch, {}));
  for (Index i = 0; i < 10 * d; ++i) EXPECT_EQ(first.data()[i], second.data()[i]);
}

TEST(StreamedAttention, Stops) {
  StreamedAttention attention;
  StreamedAttention::Scratch scratch;
  const Matrix<float> tokens = normals(10, 4, 1);
  attention.set_tokens(tokens);
  Matrix<float> out(10, 4);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(attention.attend(tokens, out, scratch, stop.get_token()));
}

TEST(RowwiseAttention, OfSoftmaxIsSoftmax) {
  const Index n = 700, d = 18;
  const Matrix<float> tokens = normals(n, d, 1), queries = normals(50, d, 2);
  const auto normalizer = make_normalizer("softmax");
  RowwiseAttention rowwise(*normalizer);
  rowwise.set_tokens(tokens);
  Matrix<float> out(50, d), scores;
  ASSERT_TRUE(rowwise.attend(queries, out, scores, {}));
  for (Index i = 0; i < 50; i += 5) {
    const auto expected = naive(queries, tokens, i);
    for (Index k = 0; k < d; ++k) {
      EXPECT_NEAR(out(i, k), expected[k], 2e-5);
    }
  }
}

TEST(MomentSums, EqualTheDefinition) {
  for (Index rows : {1, 47, 48, 192, 193, 1000}) {
    const Index d = 21;
    const Matrix<float> y = normals(rows, d, 5, 0.3);
    MomentSums whole(d), part(d), rest(d);
    whole.add(y);
    const Index half = rows / 2;
    part.add(y.view().block(0, half, 0, d));
    rest.add(y.view().block(half, rows - half, 0, d));
    part.merge(rest);
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(d);
    Eigen::MatrixXd square = Eigen::MatrixXd::Zero(d, d);
    for (Index i = 0; i < rows; ++i) {
      Eigen::VectorXd row(d);
      for (Index k = 0; k < d; ++k) row(k) = y(i, k);
      mean += row / static_cast<double>(rows);
      square += row * row.transpose() / static_cast<double>(rows);
    }
    const Eigen::MatrixXd covariance = square - mean * mean.transpose();
    for (const MomentSums* sums : {&whole, &part}) {
      EXPECT_LT((sums->moments().mean - mean).norm(), 1e-6);
      EXPECT_LT((sums->moments().covariance - covariance).norm(), 2e-6);
    }
  }
}

TEST(CovarianceNorms, OfADiagonal) {
  const Eigen::MatrixXd matrix = Eigen::Vector3d(3, -4, 0).asDiagonal();
  EXPECT_DOUBLE_EQ(covariance_norm(matrix, CovarianceNorm::frobenius), 5);
  EXPECT_DOUBLE_EQ(covariance_norm(matrix, CovarianceNorm::spectral), 4);
}

}  // namespace
}  // namespace headgauge
