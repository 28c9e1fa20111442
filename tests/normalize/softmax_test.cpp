#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "headgauge/normalize.hpp"
#include "kernels/levels.hpp"
#include "normalize/rows.hpp"

namespace headgauge {
namespace {

class SoftmaxNormalizer : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(SoftmaxNormalizer);

RowContext context(std::size_t n) {
  return {static_cast<Index>(n), static_cast<Index>(n) - 1};
}

// One row through the float32 path.
struct Weighed {
  Weighed(const Normalizer& normalizer, const std::vector<float>& logits) : weights(logits.size()) {
    sums = normalizer.weigh(logits, context(logits.size()), std::span(weights));
    norms = normalizer.jacobian_norms(logits, weights, sums, context(logits.size()));
  }
  std::vector<float> weights;
  WeightSums sums;
  Normalizer::JacobianNorms norms;
};

// Math 8.
TEST_P(SoftmaxNormalizer, GoldenNumbers) {
  const auto normalizer = make_normalizer("softmax");
  const std::vector<float> logits = {2, 1, 0, -1};
  const Weighed row(*normalizer, logits);
  const std::vector<double> golden = {.64391426, .23688282, .08714432, .0320586};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(row.weights[i], golden[i], 1e-6);
  EXPECT_NEAR(row.norms.spectral, .36295275, 1e-6);
  EXPECT_NEAR(row.norms.frobenius, .38367576, 1e-6);
  EXPECT_NEAR(row.sums.entropy, .94753696, 1e-6);
  EXPECT_NEAR(1 / row.sums.square, 2.08611077, 2e-6);
  // max |J| = a_1 (1 - a_1), by the columns of J.
  const std::vector<double> exact(logits.begin(), logits.end());
  double largest = 0;
  headgauge::Jacobian jacobian;
  normalizer->jacobian(exact, context(4), jacobian);
  for (std::size_t j = 0; j < 4; ++j) {
    std::vector<double> unit(4, 0.0), column(4);
    unit[j] = 1;
    jacobian.apply(unit, column);
    for (double x : column) largest = std::max(largest, std::abs(x));
  }
  EXPECT_NEAR(largest, .22928869, 1e-7);
}

TEST_P(SoftmaxNormalizer, TwoEqualLogitsReachTheLipschitzConstant) {
  for (const double t : {0.01, 0.3, 1.0, 7.0}) {
    const auto normalizer = make_normalizer("softmax:t=" + std::to_string(t));
    const Weighed row(*normalizer, {0.0f, 0.0f});
    EXPECT_NEAR(row.norms.spectral, 1 / (2 * t), 1e-6 / t);
    EXPECT_NEAR(normalizer->traits().lipschitz, 1 / (2 * t), 1e-12 / t);
    EXPECT_NEAR(row.norms.bound, 1 / (2 * t), 1e-6 / t);
  }
}

// J as a matrix from the definition, in long double.
struct Jacobian {
  Jacobian(const std::vector<float>& logits, double t) : a(logits.size()) {
    const long double top = *std::ranges::max_element(logits);
    long double z = 0;
    for (std::size_t i = 0; i < a.size(); ++i) z += a[i] = std::exp((logits[i] - top) / t);
    for (auto& x : a) x /= z;
    for (std::size_t i = 0; i < a.size(); ++i) {
      // 1 - a_i as the sum of the others, which keeps its digits.
      long double others = 0;
      for (std::size_t j = 0; j < a.size(); ++j) others += j == i ? 0 : a[j];
      frobenius += a[i] * a[i] * others * others;
      for (std::size_t j = 0; j < a.size(); ++j)
        frobenius += i == j ? 0 : a[i] * a[i] * a[j] * a[j];
    }
    frobenius = std::sqrt(frobenius) / t;
    // The root of sum a_i/(a_i - lam) = 0 between the two largest, by bisection; the function of
    // lam runs from -inf to inf there. (ridge_test checks that equation against eigenvalues.)
    auto sorted = a;
    std::ranges::sort(sorted, std::greater<>());
    if (sorted.size() < 2) return;
    long double low = sorted[1], high = sorted[0];
    for (int step = 0; step < 300 && low > 0 && low < high; ++step) {
      // A row of 1 and 1e-20 needs the middle in powers of ten.
      const long double middle = std::sqrt(low) * std::sqrt(high);
      if (middle <= low || middle >= high) break;
      long double sum = 0;
      for (long double x : sorted) sum += x / (x - middle);
      (sum < 0 ? low : high) = middle;
    }
    spectral = low / t;
  }
  std::vector<long double> a;
  long double frobenius = 0, spectral = 0;
};

// Design section 4: 2e-5 relative. Here on every row, the nearly one-hot ones included.
TEST_P(SoftmaxNormalizer, JacobianNormsOnEveryRow) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto logits = any_row(i);
    for (const double t : {1.0, 0.25}) {
      const auto normalizer = make_normalizer(t == 1 ? "softmax" : "softmax:t=0.25");
      const Jacobian exact(logits, t);
      // Weights beyond e^-60 of the largest are beyond float32.
      if (exact.frobenius < 1e-25L) continue;
      const Weighed row(*normalizer, logits);
      EXPECT_NEAR(row.norms.frobenius, exact.frobenius, 2e-5 * exact.frobenius) << i;
      EXPECT_NEAR(row.norms.spectral, exact.spectral, 2e-5 * exact.spectral) << i;
    }
  }
}

TEST_P(SoftmaxNormalizer, NearlyOneHotRowsKeepTheDigitsOfTheNorms) {
  const auto normalizer = make_normalizer("softmax");
  for (const std::size_t n : {2u, 3u, 17u, 300u}) {
    for (const float gap : {1.0f, 5.0f, 10.0f, 15.0f, 20.0f, 30.0f, 38.0f}) {
      std::vector<float> logits = normals(static_cast<Index>(n), n, 0.7);
      logits[n / 2] = *std::ranges::max_element(logits) + gap;
      const Jacobian exact(logits, 1.0);
      const Weighed row(*normalizer, logits);
      EXPECT_NEAR(row.norms.frobenius, exact.frobenius, 2e-5 * exact.frobenius) << n << " " << gap;
      EXPECT_NEAR(row.norms.spectral, exact.spectral, 2e-5 * exact.spectral) << n << " " << gap;
    }
  }
}

TEST_P(SoftmaxNormalizer, BothPrecisionsGiveTheSameWeights) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto logits = any_row(i);
    const std::vector<double> exact(logits.begin(), logits.end());
    for (const char* spec : {"softmax", "softmax:t=0.1", "softmax:t=3"}) {
      const auto normalizer = make_normalizer(spec);
      const Weighed row(*normalizer, logits);
      std::vector<double> weights(exact.size());
      normalizer->weigh(exact, context(exact.size()), std::span(weights));
      double mass = 0;
      for (std::size_t j = 0; j < weights.size(); ++j) {
        EXPECT_NEAR(row.weights[j], weights[j], 2e-5 * weights[j] + 1e-37) << spec << " " << i;
        mass += weights[j];
      }
      EXPECT_NEAR(mass, 1.0, 1e-13);
      const double t = 1 / (2 * normalizer->traits().lipschitz);
      double lse = 0;
      for (double l : exact) lse += std::exp((l - row.sums.max_logit) / t);
      lse = std::log(lse) + row.sums.max_logit / t;
      EXPECT_NEAR(row.sums.log_sum_exp, lse, 1e-6 + 1e-6 * std::abs(lse)) << spec << " " << i;
      EXPECT_EQ(row.sums.max_logit, *std::ranges::max_element(logits));
      EXPECT_EQ(row.sums.min_logit, *std::ranges::min_element(logits));
    }
  }
}

// Central differences of weigh().
TEST_P(SoftmaxNormalizer, JacobianProductsAgreeWithDifferences) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto row = any_row(i);
    const std::size_t n = row.size();
    const std::vector<double> logits(row.begin(), row.end());
    for (const double t : {1.0, 0.5, 4.0}) {
      const auto normalizer = make_normalizer("softmax:t=" + std::to_string(t));
      const auto direction = normals(static_cast<Index>(n), i + 7);
      const auto other = normals(static_cast<Index>(n), i + 8);
      const std::vector<double> v(direction.begin(), direction.end());
      const std::vector<double> u(other.begin(), other.end());
      std::vector<double> up(n), down(n), forward(n), backward(n);
      constexpr double kStep = 1e-5;
      auto moved = logits;
      for (std::size_t j = 0; j < n; ++j) moved[j] = logits[j] + kStep * v[j];
      normalizer->weigh(moved, context(n), std::span(up));
      for (std::size_t j = 0; j < n; ++j) moved[j] = logits[j] - kStep * v[j];
      normalizer->weigh(moved, context(n), std::span(down));
      headgauge::Jacobian jacobian;
      normalizer->jacobian(logits, context(n), jacobian);
      jacobian.apply(v, forward);
      normalizer->vjp(logits, context(n), u, backward);
      double left = 0, right = 0, size = 0;
      for (std::size_t j = 0; j < n; ++j) {
        EXPECT_NEAR(forward[j], (up[j] - down[j]) / (2 * kStep), 1e-6) << i << " " << t;
        left += u[j] * forward[j];
        right += backward[j] * v[j];
        size += std::abs(u[j] * forward[j]);
      }
      // <u, J v> = <J^T u, v>
      EXPECT_NEAR(left, right, 1e-12 * size + 1e-14);
    }
  }
}

}  // namespace
}  // namespace headgauge
