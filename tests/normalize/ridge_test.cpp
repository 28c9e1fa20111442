#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "headgauge/normalize.hpp"
#include "kernels/levels.hpp"
#include "kernels/ridge.hpp"

namespace headgauge {
namespace {

class Ridge : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(Ridge);

double largest_eigenvalue(const std::vector<float>& r) {
  const auto n = static_cast<Eigen::Index>(r.size());
  Eigen::VectorXd d(n);
  for (Eigen::Index i = 0; i < n; ++i) d(i) = r[static_cast<std::size_t>(i)];
  const Eigen::MatrixXd m = Eigen::MatrixXd(d.asDiagonal()) - d * d.transpose() / d.sum();
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m, Eigen::EigenvaluesOnly)
      .eigenvalues()(n - 1);
}

// The root of the secular equation by bisection in long double.
double root(const std::vector<float>& r) {
  std::vector<float> sorted = r;
  std::ranges::sort(sorted, std::greater<>());
  using Long = long double;
  Long low = sorted[1], high = sorted[0];
  if (low == 0 || low == high) return static_cast<double>(low);
  for (int i = 0; i < 200; ++i) {
    const Long middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    Long f = 0;
    for (float x : sorted) f += x / (x - middle);
    (f < 0 ? low : high) = middle;
  }
  return static_cast<double>(low);
}

std::vector<float> softmax_of(std::vector<float> logits) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (float l : logits) sum += std::exp(l - top);
  for (float& l : logits) l = static_cast<float>(std::exp(l - top) / sum);
  return logits;
}

TEST_P(Ridge, AgreesWithDenseEigenvalues) {
  for (const Index n : {2, 3, 4, 7, 15, 16, 17, 31, 33, 64, 100}) {
    for (const double spread : {0.01, 0.3, 1.0, 3.0, 10.0}) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const auto r = softmax_of(normals(n, seed, spread));
        EXPECT_NEAR(ridge_root(r), largest_eigenvalue(r), 1e-15) << n << " " << spread;
      }
    }
  }
}

TEST_P(Ridge, AgreesWithBisection) {
  double worst = 0;
  const auto check = [&](const std::vector<float>& r) {
    const double expected = root(r);
    const double got = ridge_root(r);
    EXPECT_NEAR(got, expected, 1e-12 * expected) << "n = " << r.size();
    if (expected > 0) worst = std::max(worst, std::abs(got - expected) / expected);
  };
  for (const Index n : {2, 3, 5, 16, 17, 50, 128, 300, 1024}) {
    for (const double spread : {1e-5, 0.01, 0.1, 1.0, 3.0, 10.0, 30.0}) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        auto r = softmax_of(normals(n, seed, spread));
        check(r);
        // Ties for second place, and neighbours in float32 at the top.
        std::ranges::sort(r, std::greater<>());
        r[static_cast<std::size_t>(n / 2)] = r[1];
        check(r);
        r[0] = std::nextafter(r[1], 1.0f);
        check(r);
        r.back() = std::nextafter(r[1], 0.0f);
        check(r);
        // One key nearly alone.
        for (const float rest : {1e-3f, 1e-10f, 1e-30f}) {
          auto one = r;
          for (float& x : one) x *= rest;
          one[static_cast<std::size_t>(n / 3)] = 1.0f;
          check(one);
        }
      }
    }
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST_P(Ridge, TheCasesWithoutARoot) {
  EXPECT_EQ(ridge_root(std::vector<float>{}), 0.0);
  EXPECT_EQ(ridge_root(std::vector<float>{1.0f}), 0.0);
  EXPECT_EQ(ridge_root(std::vector<float>{0.0f, 1.0f, 0.0f}), 0.0);
  EXPECT_EQ(ridge_root(std::vector<float>{0.5f, 0.5f}), 0.5);
  EXPECT_EQ(ridge_root(std::vector<float>(100, 0.01f)), double{0.01f});
  std::vector<float> tie(40, 0.01f);
  tie[3] = tie[39] = 0.25f;
  EXPECT_EQ(ridge_root(tie), 0.25);
}

TEST_P(Ridge, TwoKeysHaveTheRootTwicePQOverPPlusQ) {
  EXPECT_NEAR(ridge_root(std::vector<float>{0.75f, 0.25f}), 0.375, 1e-15);
  EXPECT_NEAR(ridge_root(std::vector<float>{1.0f, 1e-30f}), 2 * double{1e-30f}, 1e-42);
}

TEST_P(Ridge, WeightsAtTheEndOfFloat32) {
  for (const std::vector<float>& r : {std::vector<float>{1.0f, 2e-36f, 0.0f, 1e-38f},
                                      std::vector<float>{0.0f, 1e-37f, 1.0f, 2e-37f, 1e-37f},
                                      std::vector<float>{3e-38f, 2e-38f, 1.5e-38f}}) {
    const double expected = root(r);
    EXPECT_NEAR(ridge_root(r), expected, 1e-12 * expected);
  }
}

}  // namespace
}  // namespace headgauge
