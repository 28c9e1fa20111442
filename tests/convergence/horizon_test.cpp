#include "convergence/rate.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

namespace headgauge {
namespace {

// As paper B writes it (docs/mathematics.md D5.3): H = ||Lc^T A Lc||_2 with A = Wk^T Wq / sqrt(d)
// of width x width and Lc Lc^T the covariance of what enters the layer.
TEST(Horizon, IsThatOfTheWeightsAndTheCovarianceOfTheInputs) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal;
  const auto draw = [&](Eigen::Index rows, Eigen::Index cols) {
    return Eigen::MatrixXd::NullaryExpr(rows, cols, [&] { return normal(generator); }).eval();
  };
  const Eigen::Index width = 24, d = 6, length = 200;
  Eigen::MatrixXd inputs = draw(length, width) * draw(width, width) / 5;
  inputs.rowwise() += draw(1, width).row(0);
  const Eigen::MatrixXd wq = draw(d, width), wk = draw(d, width);
  Matrix<float> queries(length, d), keys(length, d);
  const Eigen::MatrixXd q = inputs * wq.transpose(), k = inputs * wk.transpose();
  for (Index r = 0; r < length; ++r) {
    for (Index c = 0; c < d; ++c) {
      // Biases drop out.
      queries(r, c) = static_cast<float>(q(r, c) + 0.3);
      keys(r, c) = static_cast<float>(k(r, c) - 1.1);
    }
  }
  const Eigen::MatrixXd centred = inputs.rowwise() - inputs.colwise().mean();
  const Eigen::MatrixXd covariance = centred.transpose() * centred / double(length);
  const Eigen::MatrixXd lower = covariance.llt().matrixL();
  const Eigen::MatrixXd a = wk.transpose() * wq;
  const double expected = (lower.transpose() * a * lower).jacobiSvd().singularValues()(0);
  EXPECT_NEAR(query_key_spread(queries, keys) / expected, 1.0, 1e-6);
}

TEST(Horizon, IsDefinedForSingularCovariances) {
  Matrix<float> same(50, 4), line(50, 4);
  for (Index r = 0; r < 50; ++r) {
    for (Index c = 0; c < 4; ++c) {
      same(r, c) = 2.5f;
      line(r, c) = static_cast<float>(r % 2 == 0 ? 1 : -1);
    }
  }
  EXPECT_EQ(query_key_spread(same, line), 0.0);
  // Both vary along (1, 1, 1, 1)/2 with variance 4.
  EXPECT_NEAR(query_key_spread(line, line), 4.0, 1e-12);
}

TEST(Horizon, SetsTheRate) {
  EXPECT_DOUBLE_EQ(predicted_rate(0), 0.5);
  EXPECT_DOUBLE_EQ(predicted_rate(1), 0.25);
  EXPECT_DOUBLE_EQ(predicted_rate(2), 0.1);
}

}  // namespace
}  // namespace headgauge
