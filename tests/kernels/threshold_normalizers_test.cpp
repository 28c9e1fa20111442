#include "kernels/threshold_normalizers.hpp"

#include "kernels/weight_reference.hpp"

namespace headgauge {
namespace {

class ThresholdNormalizers : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(ThresholdNormalizers);

// The root by bisection on a function that falls from above 1 at `low` to below it at `high`, and
// the weights there, divided by their sum.
template <class Weight>
std::vector<double> by_bisection(const std::vector<float>& row, double low, double high,
                                 const Weight& weight) {
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    double sum = 0;
    for (const float l : row) sum += weight(l, middle);
    (sum >= 1 ? low : high) = middle;
  }
  std::vector<double> out;
  double sum = 0;
  for (const float l : row) {
    out.push_back(weight(l, low));
    sum += out.back();
  }
  for (double& a : out) a /= sum;
  return out;
}

std::vector<double> entmax(const std::vector<float>& row, double alpha, double scale) {
  const double top = *std::max_element(row.begin(), row.end());
  return by_bisection(row, -1, 0, [&](double l, double tau) {
    const double rest = (l - top) * scale * (alpha - 1) - tau;
    return rest > 0 ? std::pow(rest, 1 / (alpha - 1)) : 0.0;
  });
}

auto weigh_entmax(double alpha, double scale) {
  return [=](std::span<const float> row, std::span<float> weights, WeightSums& sums) {
    return entmax_row(row, alpha, scale, weights, sums);
  };
}

template <class Weigh>
void expect_row(const std::vector<float>& row, const std::vector<double>& exact, const Weigh& weigh,
                const std::string& name) {
  std::vector<float> weights(row.size() + 1, -7.0f);
  WeightSums got;
  ASSERT_TRUE(weigh(row, std::span(weights.data(), row.size()), got));
  const std::string at = name + ", n = " + std::to_string(row.size());
  ASSERT_EQ(weights.back(), -7.0f) << "written past the end";
  const double top = *std::max_element(exact.begin(), exact.end());
  for (std::size_t i = 0; i < row.size(); ++i) {
    // A weight at the edge of the support comes and goes with the last digits of the root.
    ASSERT_NEAR(weights[i], exact[i], 1e-6 * exact[i] + 1e-7 * top)
        << at << ", weight " << i << " at " << row[i];
  }
  EXPECT_EQ(got.mass, 1.0) << at;
  expect_sums(got, reference_sums(exact), 2e-6, at);
  expect_same_elsewhere(row, weights, got, weigh, at);
}

TEST_P(ThresholdNormalizers, EntmaxAgreesWithBisection) {
  if (simd_level() == std::string("baseline")) GTEST_SKIP() << "left to float64";
  for (const auto& [alpha, scale] : {std::pair(2.0, 1.0),
                                     {1.5, 1.0},
                                     {1.5, 3.7},
                                     {1.25, 1.0},
                                     {1.7, 1.0},
                                     {1.02, 1.0},
                                     {2.5, 1.0},
                                     {4.0, 1.0},
                                     {1.5, 0.0}}) {
    for_each_row([&, a = alpha, s = scale](const std::vector<float>& row) {
      if (HasFailure()) return;
      // The oracle is slow.
      if (row.size() > 600 && a != 1.5 && a != 1.25) return;
      expect_row(row, entmax(row, a, s), weigh_entmax(a, s), "alpha = " + std::to_string(a));
    });
    if (HasFailure()) return;
  }
}

TEST_P(ThresholdNormalizers, RowsThatAreNotFiniteAreLeftAlone) {
  expect_left_alone(weigh_entmax(1.5, 1.0));
}

}  // namespace
}  // namespace headgauge
