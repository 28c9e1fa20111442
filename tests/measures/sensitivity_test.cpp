#include "measures/sensitivity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/random.hpp"
#include "kernels/levels.hpp"
#include "kernels/sensitivity.hpp"
#include "kernels/sensitivity_direction.hpp"
#include "measures/sensitivity_oracle.hpp"

namespace headgauge {
namespace {

class Sensitivity : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(Sensitivity);

const std::vector<double> kEpsilons = {1e-3, 0.1, 10.0};

// logspace(-2, 1, 31), or part of it.
std::vector<double> temperatures(int stride = 1) {
  std::vector<double> out;
  for (int i = 0; i < 31; i += stride) out.push_back(std::pow(10.0, -2 + 0.1 * i));
  return out;
}

std::vector<double> random_unit(std::size_t n, std::uint32_t seed) {
  std::vector<double> v(n);
  random_direction(seed, 3, 5, v);
  return v;
}

void compare(const std::vector<float>& logits, const std::vector<double>& v) {
  SensitivityWorkspace work;
  const std::vector<double> grid = temperatures(logits.size() > 300 ? 5 : 1);
  std::vector<double> got(grid.size() * kEpsilons.size());
  softmax_sensitivity(logits, v, grid, kEpsilons, work, got);
  for (std::size_t t = 0; t < grid.size(); ++t) {
    for (std::size_t e = 0; e < kEpsilons.size(); ++e) {
      const double expected = gain(logits, v, grid[t], kEpsilons[e]);
      // Below this the definition has no digits left: in long double for small steps, in the
      // kernel's float64 for large ones.
      const bool large = kEpsilons[e] / grid[t] > 6.0;
      const double floor = (large ? 4e-16 : 1e-17) / kEpsilons[e];
      ASSERT_NEAR(got[t * kEpsilons.size() + e], expected, 5e-6 * expected + floor)
          << "n = " << logits.size() << ", T = " << grid[t] << ", eps = " << kEpsilons[e];
    }
  }
}

TEST_P(Sensitivity, AgreesWithTheDefinitionOnRandomRows) {
  for (Index n = 2; n <= 300; n += n < 35 ? 1 : 19) {
    for (const double spread : {0.05, 1.0, 5.0}) {
      const auto logits = normals(n, static_cast<std::uint64_t>(n), spread);
      compare(logits, random_unit(logits.size(), static_cast<std::uint32_t>(n)));
      if (HasFatalFailure()) return;
    }
  }
  for (const Index n : {511, 512, 513, 1024, 2051}) {
    const auto logits = normals(n, static_cast<std::uint64_t>(n), 1.0);
    compare(logits, random_unit(logits.size(), 1));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Sensitivity, AgreesWithTheDefinitionOnExtremeRows) {
  for (const Index n : {2, 3, 5, 16, 17, 64, 1024}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<std::vector<float>> rows;
    rows.push_back(std::vector<float>(size, 1e4f));  // all alike
    for (const float gap : {0.01f, 0.3f, 1.0f, 10.0f, 60.0f, 1000.0f}) {
      auto one_hot = normals(n, 7, 0.3);
      one_hot[size / 2] = *std::ranges::max_element(one_hot) + gap;
      rows.push_back(one_hot);
      std::vector<float> step(size, -gap);
      step[0] = 0.0f;
      rows.push_back(step);
      step[size - 1] = 0.0f;  // two alike
      rows.push_back(step);
    }
    for (const double spread : {1e-6, 100.0, 1e4}) rows.push_back(normals(n, 9, spread));
    for (const auto& row : rows) {
      compare(row, top2(row));
      compare(row, random_unit(size, 2));
      std::vector<double> one(size, 0.0);
      one[0] = -1.0;
      compare(row, one);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Sensitivity, ARowOfOneKeyCannotMove) {
  SensitivityWorkspace work;
  std::vector<double> got(2, -1.0);
  softmax_sensitivity(std::vector<float>{3.0f}, std::vector<double>{1.0},
                      std::vector<double>{0.1, 1.0}, std::vector<double>{0.1}, work, got);
  EXPECT_EQ(got, (std::vector<double>{0.0, 0.0}));
}

// The result is that of the row alone, whatever the workspace was used for before.
TEST_P(Sensitivity, TheWorkspaceCarriesNothingOver) {
  SensitivityWorkspace used;
  const std::vector<double> grid = temperatures(3);
  for (const Index n : {300, 17, 5, 16, 2, 301, 40}) {
    const auto logits = normals(n, 5, 2.0);
    const auto v = random_unit(logits.size(), 9);
    std::vector<double> got(grid.size() * 3), expected(grid.size() * 3);
    softmax_sensitivity(logits, v, grid, kEpsilons, used, got);
    SensitivityWorkspace fresh;
    softmax_sensitivity(logits, v, grid, kEpsilons, fresh, expected);
    EXPECT_EQ(got, expected) << n;
  }
}

// Float64 is for the few rows that need it: not for steps in which nothing cancels.
TEST_P(Sensitivity, OrdinaryRowsStayInFloat32) {
  SensitivityWorkspace work;
  const std::vector<double> grid = temperatures();
  const std::vector<double> small = {1e-3, 0.01};
  std::vector<double> gains(grid.size() * small.size());
  for (const Index n : {16, 100, 512, 2000}) {
    for (const double spread : {0.01, 0.5, 5.0}) {
      const auto logits = normals(n, 3, spread);
      softmax_sensitivity(logits, top2(logits), grid, small, work, gains);
      softmax_sensitivity(logits, random_unit(logits.size(), 4), grid, small, work, gains);
    }
  }
  EXPECT_EQ(work.recomputed, 0u);
}

// Math C-7: g <= min{1/(2T), sqrt 2 / eps}.
TEST_P(Sensitivity, NeverLeavesTheValidEnvelope) {
  SensitivityWorkspace work;
  const std::vector<double> grid = temperatures(2);
  std::vector<double> gains(grid.size() * 3);
  std::size_t beyond_printed = 0, near = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Index n = 2 + static_cast<Index>(i % 100);
    auto logits = normals(n, i, i % 3 == 0 ? 0.01 : 2.0);
    if (i % 5 == 0) logits[1] = *std::ranges::max_element(logits);
    softmax_sensitivity(
        logits,
        i % 2 == 0 ? top2(logits) : random_unit(logits.size(), static_cast<std::uint32_t>(i)), grid,
        kEpsilons, work, gains);
    for (std::size_t t = 0; t < grid.size(); ++t) {
      for (std::size_t e = 0; e < 3; ++e) {
        const double g = gains[t * 3 + e];
        const double valid = std::min(1 / (2 * grid[t]), std::numbers::sqrt2 / kEpsilons[e]);
        EXPECT_LE(g, valid * (1 + 5e-6)) << n << " " << grid[t] << " " << kEpsilons[e];
        if (g > 0.9 * valid) ++near;
        if (g > std::min(1 / (4 * grid[t]), std::numbers::sqrt2)) ++beyond_printed;
      }
    }
  }
  EXPECT_GT(near, 100u);
  EXPECT_GT(beyond_printed, 1000u) << "the printed bound does not hold";
}

// Math C-7: L = 2, T = .01, eps = 1e-3 gives 49.9.
TEST_P(Sensitivity, TheExampleAgainstThePrintedBound) {
  SensitivityWorkspace work;
  const std::vector<float> logits = {0.0f, 0.0f};
  double g = 0;
  softmax_sensitivity(logits, top2(logits), std::vector<double>{0.01}, std::vector<double>{1e-3},
                      work, {&g, 1});
  // sqrt 2 (sigma(sqrt 2 eps/T) - 1/2)/eps
  const double x = 0.1 * std::numbers::sqrt2;
  EXPECT_NEAR(g, std::numbers::sqrt2 * (1 / (1 + std::exp(-x)) - 0.5) / 1e-3, 1e-4);
  EXPECT_NEAR(g, 49.9, 0.05);
}

TEST_P(Sensitivity, AnyNormalizerGoesTheGeneralWay) {
  const auto softmax = make_normalizer("softmax");
  const auto half = make_normalizer("softmax:t=0.5");
  SensitivityWorkspace work;
  const std::vector<double> grid = temperatures(3);
  std::vector<double> halved;
  for (double t : grid) halved.push_back(t / 2);
  std::vector<double> fast(grid.size() * 3), general(grid.size() * 3);
  for (const Index n : {2, 3, 30, 200}) {
    const auto logits = normals(n, 4, 1.5);
    const auto v = random_unit(logits.size(), 6);
    const RowContext context{n, n - 1};
    softmax_sensitivity(logits, v, grid, kEpsilons, work, fast);
    normalizer_sensitivity(*softmax, context, logits, v, grid, kEpsilons, general);
    for (std::size_t i = 0; i < fast.size(); ++i) {
      EXPECT_NEAR(fast[i], general[i], 5e-6 * fast[i] + 1e-12) << n;
    }
    normalizer_sensitivity(*half, context, logits, v, grid, kEpsilons, general);
    softmax_sensitivity(logits, v, halved, kEpsilons, work, fast);
    for (std::size_t i = 0; i < fast.size(); ++i) {
      EXPECT_NEAR(fast[i], general[i], 5e-6 * fast[i] + 1e-12) << n;
    }
  }
}

TEST_P(Sensitivity, RandomDirectionsAreTheNormalsOfTheStream) {
  for (const std::size_t n : {1u, 2u, 3u, 7u, 8u, 15u, 16u, 17u, 31u, 33u, 300u, 1023u, 4096u}) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0xFEDCBA9876543210}}) {
      std::vector<double> z(n), v(n + 1, 7.0);
      RandomStream(seed, RandomDomain::sensitivity_direction, 65541, 1u << 20).normals(z);
      random_direction(seed, 65541, 1u << 20, std::span(v).first(n));
      EXPECT_EQ(v[n], 7.0) << "written past the end";
      double norm = 0;
      for (double x : z) norm += x * x;
      norm = std::sqrt(norm);
      for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(v[i], z[i] / norm, 1e-14) << n << " " << i;
    }
  }
}

TEST(Top2Direction, TakesTheTwoLargestTiesByLowerIndex) {
  const double h = std::sqrt(0.5);
  const auto expect = [&](std::vector<float> logits, std::size_t first, std::size_t second) {
    const auto v = top2(logits);
    for (std::size_t i = 0; i < v.size(); ++i) {
      EXPECT_NEAR(v[i], i == first ? h : i == second ? -h : 0.0, 1e-15) << i;
    }
  };
  expect({1, 2}, 1, 0);
  expect({2, 2}, 0, 1);
  expect({0, 3, 1, 3, 2}, 1, 3);
  expect({1, 1, 1, 1}, 0, 1);
  expect({0, 5, 4, 4}, 1, 2);
  expect({4, 0, 4, 5}, 3, 0);
}

}  // namespace
}  // namespace headgauge
