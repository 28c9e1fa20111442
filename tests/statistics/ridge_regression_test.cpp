#include "statistics/ridge_regression.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"

namespace headgauge {
namespace {

struct Data {
  std::vector<std::vector<double>> rows;
  std::vector<double> y, weights;
  std::vector<double> truth;

  // Rows of zeros and ones, as plans are.
  Data(int count, int coefficients, double error) {
    const RandomStream random(3, RandomDomain::random_plans, 0, 0);
    std::uint32_t next = 0;
    for (int j = 0; j < coefficients; ++j) truth.push_back(j % 3 == 0 ? 1.0 + j : 0.0);
    for (int i = 0; i < count; ++i) {
      auto& row = rows.emplace_back();
      double sum = 0;
      for (int j = 0; j < coefficients; ++j) {
        row.push_back(random.uniforms(next++)[0] < 0.5 ? 1 : 0);
        sum += row.back() * truth[j];
      }
      std::vector<double> normal(1);
      random.normals(normal, 1'000'000 + next++);
      y.push_back(sum + error * normal[0]);
      weights.push_back(1);
    }
  }
};

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

TEST(RidgeRegression, FindsTheCoefficientsOfManyRows) {
  const Data data(200, 12, 1e-6);
  const RidgeRegression fit(data.rows, data.y, data.weights);
  EXPECT_LT(distance(fit.coefficients(), data.truth), 0.02);
}

TEST(RidgeRegression, SolvesTheNormalEquationsOfItsLambda) {
  Data data(9, 5, 1);
  data.weights = {1, 2, 0.5, 3, 1, 1, 0.1, 4, 1};
  const RidgeRegression fit(data.rows, data.y, data.weights);
  const std::vector<double> found = fit.coefficients();
  for (std::size_t j = 0; j < found.size(); ++j) {
    double gradient = -fit.lambda() * found[j];
    for (std::size_t i = 0; i < data.rows.size(); ++i) {
      double rest = data.y[i];
      for (std::size_t k = 0; k < found.size(); ++k) rest -= data.rows[i][k] * found[k];
      gradient += data.weights[i] * data.rows[i][j] * rest;
    }
    EXPECT_NEAR(gradient, 0, 1e-9) << j;
  }
}

TEST(RidgeRegression, ShrinksWhatTheRowsDoNotTell) {
  const Data noise(30, 40, 0);
  Data data = noise;
  const RandomStream random(5, RandomDomain::random_plans, 0, 0);
  random.normals(data.y);  // nothing but errors
  const RidgeRegression of_noise(data.rows, data.y, data.weights);
  const RidgeRegression of_truth(noise.rows, noise.y, noise.weights);
  EXPECT_GT(of_noise.lambda(), of_truth.lambda());
}

TEST(RidgeRegression, DrawsSpreadAroundTheCoefficients) {
  const Data data(30, 12, 2);
  const RidgeRegression fit(data.rows, data.y, data.weights);
  const std::vector<double> centre = fit.coefficients();
  std::vector<double> sum(centre.size()), squares(centre.size());
  constexpr int kDraws = 4000;
  std::vector<double> normals(fit.draw_size());
  for (int d = 0; d < kDraws; ++d) {
    RandomStream(1, RandomDomain::random_plans, static_cast<std::uint32_t>(d), 1).normals(normals);
    const std::vector<double> drawn = fit.draw(normals);
    for (std::size_t j = 0; j < drawn.size(); ++j) {
      sum[j] += drawn[j] / kDraws;
      squares[j] += (drawn[j] - centre[j]) * (drawn[j] - centre[j]) / kDraws;
    }
  }
  double hits = 0;
  for (std::size_t j = 0; j < centre.size(); ++j) {
    EXPECT_NEAR(sum[j], centre[j], 5 * std::sqrt(squares[j] / kDraws)) << j;
    hits += std::abs(centre[j] - data.truth[j]) < 3 * std::sqrt(squares[j]) ? 1 : 0;
  }
  EXPECT_GE(hits, 10) << "the truth lies within three standard deviations";
  EXPECT_EQ(fit.draw(std::vector<double>(normals.size(), 0.0)).size(), centre.size());
}

}  // namespace
}  // namespace headgauge
