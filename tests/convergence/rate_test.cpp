#include "convergence/rate.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.hpp"

namespace headgauge {
namespace {

using Values = std::vector<double>;

// The normal equations with all their matrices, as the textbook has them: slope and its variance
// from (X^T W X)^-1 times the weighted residuals over the degrees of freedom.
struct Line {
  double slope = 0;
  double standard_error = 0;
};
Line normal_equations(const Values& n, const Values& error, const Values& weight) {
  const auto rows = static_cast<Eigen::Index>(n.size());
  Eigen::MatrixXd x(rows, 2);
  Eigen::VectorXd y(rows);
  Eigen::MatrixXd w = Eigen::MatrixXd::Zero(rows, rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    x(i, 0) = 1;
    x(i, 1) = std::log(n[i]);
    y(i) = std::log(error[i]);
    w(i, i) = weight[i];
  }
  const Eigen::Matrix2d inverse = (x.transpose() * w * x).inverse();
  const Eigen::Vector2d beta = inverse * x.transpose() * w * y;
  const Eigen::VectorXd residual = y - x * beta;
  const double scale = residual.dot(w * residual) / static_cast<double>(rows - 2);
  return {beta(1), std::sqrt(scale * inverse(1, 1))};
}

Values weights_of(const Values& error, const Values& deviation, double k) {
  Values weights;
  for (std::size_t i = 0; i < error.size(); ++i) {
    weights.push_back(1 / std::pow(deviation[i] / std::sqrt(k) / error[i], 2));
  }
  return weights;
}

TEST(Rate, ExactPowerLaw) {
  const Values n{100, 200, 400, 800, 1600};
  Values error;
  for (double tokens : n) error.push_back(3 * std::pow(tokens, -0.4));
  const RateFit fit = fit_rate(n, error, Values(5, 0.01), 20);
  EXPECT_NEAR(fit.rate, 0.4, 1e-12);
  EXPECT_NEAR(fit.standard_error, 0, 1e-12);
  EXPECT_EQ(fit.points, 5);
  EXPECT_EQ(fit.under_floor + fit.unusable, 0);
}

TEST(Rate, EqualsTheNormalEquationsOnRandomPoints) {
  for (std::uint32_t trial = 0; trial < 50; ++trial) {
    const RandomStream random(7, RandomDomain::phantom, trial, 0);
    const std::size_t points = 4 + trial % 9;
    Values n, error, deviation;
    for (std::uint32_t i = 0; i < points; ++i) {
      const auto [u, v] = random.uniforms(2 * i);
      n.push_back(100 * (i + 1) + 50 * u);
      error.push_back(std::pow(n.back(), -0.5) * (0.5 + v));
      deviation.push_back(error.back() * (0.05 + random.uniforms(2 * i + 1)[0]));
    }
    const Line line = normal_equations(n, error, weights_of(error, deviation, 30));
    const RateFit fit = fit_rate(n, error, deviation, 30);
    EXPECT_NEAR(fit.rate, -line.slope, 1e-9);
    EXPECT_NEAR(fit.standard_error, line.standard_error, 1e-9);
    // The scatter scales the standard error: how many replicates there were cancels.
    EXPECT_NEAR(fit_rate(n, error, deviation, 1).standard_error, fit.standard_error, 1e-12);
  }
}

TEST(Rate, UnweightedWhereNothingScatters) {
  const Values n{10, 20, 50, 90, 200}, error{.5, .3, .31, .2, .11};
  const Line line = normal_equations(n, error, Values(5, 1.0));
  for (const Values& deviation : {Values(5, 0.0), Values{}}) {
    const RateFit fit = fit_rate(n, error, deviation, 1);
    EXPECT_NEAR(fit.rate, -line.slope, 1e-12);
    EXPECT_NEAR(fit.standard_error, line.standard_error, 1e-12);
  }
}

TEST(Rate, APointWithoutScatterAmongOthersPinsTheLine) {
  const Values n{10, 20, 50, 90, 200}, error{.5, .3, .31, .2, .11};
  const RateFit fit = fit_rate(n, error, {{.1, 0, .1, 0, .1}}, 5);
  EXPECT_NEAR(fit.rate, -std::log(error[3] / error[1]) / std::log(n[3] / n[1]), 1e-6);
}

TEST(Rate, LeavesOutAndCountsWhatSaysNothing) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Values n{10, 20, 40, 80, 160, 320, 640, 1280};
  const Values error{1.0, kUndefined, 0.5, 0, 0.3, infinity, 0.2, 0.1};
  const Values deviation{.1, .1, .05, .1, .02, .1, .03, .01};
  const Values kept_n{10, 40, 160, 640}, kept{1.0, .5, .3, .2}, kept_deviation{.1, .05, .02, .03};
  const Line line = normal_equations(kept_n, kept, weights_of(kept, kept_deviation, 9));
  const RateFit fit = fit_rate(n, error, deviation, 9, 0.1);  // an error at the floor is under it
  EXPECT_EQ(fit.points, 4);
  EXPECT_EQ(fit.under_floor, 1);
  EXPECT_EQ(fit.unusable, 3);
  EXPECT_NEAR(fit.rate, -line.slope, 1e-10);
  EXPECT_NEAR(fit.standard_error, line.standard_error, 1e-10);
}

TEST(Rate, NeverInvented) {
  const Values n{10, 20, 40}, error{.5, .4, .3};
  EXPECT_TRUE(std::isnan(fit_rate(n, error, {}, 3).rate));
  EXPECT_TRUE(std::isnan(fit_rate(n, error, {}, 3).standard_error));
  EXPECT_EQ(fit_rate(n, error, {}, 3).points, 3);
  EXPECT_TRUE(std::isnan(fit_rate(Values(6, 33.0), {{1, 2, 3, 4, 5, 6}}, {}, 3).rate));
  EXPECT_TRUE(std::isnan(fit_rate({}, {}, {}, 3).rate));
  // A deviation that is no number makes its point useless.
  const RateFit fit =
      fit_rate({{10, 20, 40, 80}}, {{.5, .4, .3, .2}}, {{.1, .1, kUndefined, .1}}, 3);
  EXPECT_EQ(fit.unusable, 1);
  EXPECT_TRUE(std::isnan(fit.rate));
}

}  // namespace
}  // namespace headgauge
